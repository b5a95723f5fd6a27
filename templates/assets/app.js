// Keys and copy buttons. Every page works without this: a key follows a link or goes to a field that is there.
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
    const form = document.createElement("form");
    form.method = "dialog";
    const close = document.createElement("button");
    close.textContent = "Close";
    form.append(close);
    dialog.append(title, list, form);
    document.body.append(dialog);
  }
  dialog.showModal();
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

// The queue scrolls by itself, so what is looked at may be out of sight in it.
const current = document.querySelector(".queue a[aria-current]");
const queue = current?.closest(".queue");
if (queue && queue.scrollHeight > queue.clientHeight) {
  queue.scrollTop = current.offsetTop - queue.offsetTop - queue.clientHeight / 2;
}
