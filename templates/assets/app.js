// Keys, copy buttons, and a snapshot that is told step by step. Every page works without this: a key follows a link or goes to a
// field that is there.
"use strict";

const at = (id) => document.getElementById(id);
const changes = () => [...document.querySelectorAll(".queue li a")];

function follow(link) {
  if (link) location.assign(link.href);
}

// The change beside the one that is looked at.
function change(step) {
  follow(at(step > 0 ? "next" : "previous"));
}

// The first change of the tool beside.
function tool(step) {
  const firsts = [...document.querySelectorAll(".queue .of + li a")];
  const all = changes();
  const here = all.findIndex((a) => a.hasAttribute("aria-current"));
  const mine = firsts.filter((a) => all.indexOf(a) <= here).length - 1;
  follow(firsts[mine + step]);
}

// Chooses a decision and goes to where its reason is typed.
function decide(ruling, field) {
  const choice = document.querySelector(`.decide input[name=ruling][value=${ruling}]`);
  if (!choice) return;
  choice.checked = true;
  go(field);
}

function go(id) {
  const field = at(id);
  if (!field) return;
  field.focus();
  field.scrollIntoView({ block: "nearest" });
}

function raw() {
  const [plain, json] = document.querySelectorAll(".ways a");
  if (plain) follow(plain.hasAttribute("aria-current") ? json : plain);
}

const KEYS = {
  j: ["next change", () => change(1)],
  k: ["previous change", () => change(-1)],
  n: ["next tool", () => tool(1)],
  p: ["previous tool", () => tool(-1)],
  a: ["accept the change", () => decide("accept", "why")],
  x: ["reject the change", () => decide("reject", "why")],
  w: ["waive the change", () => decide("waive", "until")],
  c: ["comment on the change", () => go("comment")],
  ".": ["what changed, or the raw JSON", raw],
  A: ["approve the draft", () => go("approve-reason")],
  "/": ["search", () => go(at("find") ? "find" : "q")],
  "g i": ["inbox: the overview with what waits", () => location.assign("/")],
  "?": ["this list", help],
};

function help() {
  let dialog = at("keys");
  if (!dialog) {
    dialog = document.createElement("dialog");
    dialog.id = "keys";
    dialog.setAttribute("aria-labelledby", "keys-title");
    const title = document.createElement("h2");
    title.id = "keys-title";
    title.textContent = "Keys";
    const list = document.createElement("dl");
    for (const [key, [does]] of Object.entries(KEYS)) {
      const term = document.createElement("dt");
      for (const part of key.split(" ")) {
        const kbd = document.createElement("kbd");
        kbd.textContent = part;
        term.append(kbd, " ");
      }
      const what = document.createElement("dd");
      what.textContent = does;
      list.append(term, what);
    }
    // WCAG 2.2, 2.1.4: whoever speaks to the browser, or rests a hand on the keys, turns them off.
    const choice = document.createElement("label");
    choice.className = "check";
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = keysAct;
    box.addEventListener("change", () => turnKeys(box.checked));
    const words = document.createElement("span");
    words.textContent = "Keys act in this browser";
    choice.append(box, words);
    const form = document.createElement("form");
    form.method = "dialog";
    const close = document.createElement("button");
    close.textContent = "Close";
    form.append(close);
    dialog.append(title, list, choice, form);
    document.body.append(dialog);
  }
  dialog.showModal();
}

// A browser that keeps nothing for a site throws where it is asked to; then the choice is for this page.
let keysAct = true;
try {
  keysAct = localStorage.getItem("keys") !== "off";
} catch {}

function turnKeys(on) {
  keysAct = on;
  try {
    localStorage.setItem("keys", on ? "on" : "off");
  } catch {}
}

const about = at("about-keys");
if (about) {
  about.hidden = false;
  about.querySelector("button").addEventListener("click", help);
}

// The first key of two.
let pending = "";

document.addEventListener("keydown", (event) => {
  const field = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (field) {
    if (event.key === "Escape") field.blur();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) field.form?.requestSubmit();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (!keysAct) return;
  const key = pending ? `${pending} ${event.key}` : event.key;
  pending = "";
  if (Object.hasOwn(KEYS, key)) {
    event.preventDefault();
    KEYS[key][1]();
  } else if (event.key === "g") {
    pending = "g";
  }
});

for (const button of document.querySelectorAll("[data-copy]")) {
  // Without a secure context there is no clipboard to write to, and the text can be selected.
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(at(button.dataset.copy).textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "The browser refuses to copy";
    }
    setTimeout(() => (button.textContent = label), 2000);
  });
}

// A form whose answer is told step by step: what is sent is the same, and who has no script waits for the page instead.
for (const form of document.querySelectorAll("form[data-follow]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    followForm(form, at(form.dataset.follow)).catch(() => ended(form, at(form.dataset.follow), {
      good: false, outcome: "connection lost", says: "The page was cut off from the service; whether the server was asked is told below after loading it again.", links: [],
    }));
  });
}

async function followForm(form, box) {
  const button = form.querySelector("button");
  button.disabled = true;
  box.querySelector(".outcome")?.remove();
  for (const item of box.querySelectorAll("li")) {
    item.removeAttribute("class");
    item.removeAttribute("aria-current");
    item.lastElementChild.textContent = "";
  }
  box.hidden = false;
  const answer = await fetch(form.action, { method: "POST", headers: { Accept: "text/event-stream" }, body: new URLSearchParams(new FormData(form)) });
  if (!answer.ok || !answer.headers.get("content-type")?.startsWith("text/event-stream")) {
    // Not signed in any more, or refused: the page that the form leads to says so.
    form.submit();
    return;
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) {
      const field = (name) => event.split("\n").find((line) => line.startsWith(`${name}:`))?.slice(name.length + 1).trim();
      if (!field("event")) continue;
      const data = JSON.parse(field("data"));
      if (field("event") === "end") {
        ended(form, box, data);
        return;
      }
      step(box, field("event"), data);
    }
  }
  throw new Error("the answer ended before the snapshot did");
}

const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

// What is before a step is done.
function step(box, name, data) {
  let done = true;
  for (const item of box.querySelectorAll("li")) {
    const now = item.dataset.step === name;
    if (now) done = false;
    item.className = done ? "done" : "";
    item.toggleAttribute("aria-current", now);
    if (now && data.pages) item.lastElementChild.textContent = `${count(data.tools, "tool")} on ${count(data.pages, "page")}`;
  }
}

function ended(form, box, end) {
  form.querySelector("button").disabled = false;
  box.hidden = false;
  for (const item of box.querySelectorAll("li")) {
    if (end.good) item.className = "done";
    item.removeAttribute("aria-current");
  }
  const said = document.createElement("p");
  said.className = "outcome";
  const tag = document.createElement("span");
  tag.className = `tag ${end.good ? "compatible" : "failed"}`;
  tag.textContent = `${end.good ? "✓" : "✕"} ${end.outcome}`;
  said.append(tag, ` ${end.says} `);
  for (const [label, href] of end.links) {
    const link = document.createElement("a");
    link.href = href;
    link.textContent = label;
    said.append(link, " ");
  }
  box.append(said);
}

// The queue scrolls by itself, so what is looked at may be out of sight in it.
const current = document.querySelector(".queue a[aria-current]");
const queue = current?.closest(".queue");
if (queue && queue.scrollHeight > queue.clientHeight) {
  queue.scrollTop = current.offsetTop - queue.offsetTop - queue.clientHeight / 2;
}
