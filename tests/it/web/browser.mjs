// Drives the pages in Chromium. tests/it/web/browser.rs starts the service and says in the environment what to do:
// PACKAGES (a folder with playwright-core and @axe-core/playwright), CHROMIUM, BASE, TOKEN, SHOTS (a folder), DO (mouse,
// keyboard, looks, hostile, two, anew, servers; markdown: FILES, without a service). Ends with 1 and the reasons where something
// is not as it should be.
import { createRequire } from "node:module";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const env = (name) => process.env[name] ?? fail(`${name} is not said`);
function fail(message) {
  throw new Error(message);
}

const require = createRequire(`${env("PACKAGES")}/here.js`);
const { chromium } = require("playwright-core");
const { AxeBuilder } = require("@axe-core/playwright");

const [base, token, shots] = [env("BASE"), env("TOKEN"), env("SHOTS")];
mkdirSync(shots, { recursive: true });
const wrong = [];

// A page that nothing hostile happens on, or else it is written down.
async function watched(context) {
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (e) => console.error(`CSP: ${e.violatedDirective} ${e.blockedURI}`));
  });
  const page = await context.newPage();
  const at = () => decodeURI(page.url());
  page.on("dialog", async (dialog) => {
    wrong.push(`${at()}: a dialog: ${dialog.message()}`);
    await dialog.dismiss();
  });
  page.on("pageerror", (e) => wrong.push(`${at()}: ${e}`));
  page.on("console", (m) => {
    // A page that says no has a status that says no.
    if (m.type() === "error" && !m.text().startsWith("Failed to load resource: the server responded with a status of 4")) {
      wrong.push(`${at()}: console: ${m.text()}`);
    }
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(base) && !request.url().startsWith("data:")) wrong.push(`${at()}: asked ${request.url()}`);
  });
  return page;
}

async function expectText(page, text) {
  await page.getByText(text).first().waitFor({ timeout: 20000 }).catch(async () => {
    await page.screenshot({ path: `${shots}/failed.png`, fullPage: true });
    fail(`${page.url()} does not say "${text}"`);
  });
}

// By mouse: what a person sees is clicked.
function mouse(page) {
  const click = (role, name, exact = false) => page.getByRole(role, { name, exact }).first().click();
  return {
    start: () => page.goto(base),
    signIn: async () => {
      await page.getByLabel("Your token").fill(token);
      await click("button", "Sign in");
    },
    // The review that waits, from the overview.
    open: () => page.locator("main a[href*='/drafts/']").first().click(),
    decide: async (reason) => {
      await page.getByRole("radio", { name: "Accept" }).check();
      await page.locator("#why").fill(reason);
      await click("button", "Decide");
    },
    approve: async (reason) => {
      await page.locator("#approve-reason").fill(reason);
      await click("button", /^Approve/);
    },
    toEnvironment: () => page.locator("main a[href*='/environments/staging?']").click(),
    plan: (name) => click("button", name),
    move: async (name, reason) => {
      await page.getByLabel("Reason").fill(reason);
      await click("button", name, true);
    },
    release: async (reason) => {
      await page.locator(".held input[name=reason]").fill(reason);
      await click("button", "Release the hold");
    },
  };
}

// By keyboard alone: Tab, Enter, and our own keys.
function keyboard(page) {
  const focused = (selector, text) =>
    page.evaluate(
      ([selector, text]) => {
        const e = document.activeElement;
        return e.matches(selector) && e.textContent.includes(text);
      },
      [selector, text],
    );
  const tabTo = async (selector, text = "") => {
    for (let presses = 0; presses < 300; presses++) {
      if (await focused(selector, text)) {
        const visible = await page.evaluate(() => {
          const style = getComputedStyle(document.activeElement);
          return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
        });
        if (!visible) wrong.push(`${page.url()}: focus on ${selector} is not to be seen`);
        return;
      }
      await page.keyboard.press("Tab");
    }
    fail(`${page.url()}: Tab never reaches ${selector} ${text}`);
  };
  const enter = async () => {
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  };
  const key = async (...keys) => {
    for (const k of keys) await page.keyboard.press(k);
  };
  const moves = async (...keys) => {
    const done = page.waitForNavigation();
    await key(...keys);
    await done;
  };
  return {
    start: () => page.goto(base),
    signIn: async () => {
      await tabTo("#token");
      await page.keyboard.type(token);
      await enter();
    },
    open: async () => {
      await key("/");
      if (!(await focused("#find", ""))) fail("/ does not go to the search");
      await key("Escape");
      await moves("g", "i");
      await tabTo("main a[href*='/drafts/']");
      await enter();
      // Every key once, and none of them in a field.
      const first = page.url();
      await moves("j");
      if (page.url() === first) fail("j does not go on");
      await moves("k");
      await moves("n");
      await moves("p");
      await moves(".");
      await expectText(page, "Before");
      await moves(".");
      await key("?");
      if (!(await page.locator("dialog[open]").isVisible())) fail("? shows no list of keys");
      await key("Escape");
      const here = page.url();
      await key("c");
      await page.keyboard.type("jkxw?");
      if (page.url() !== here || (await page.locator("#comment").inputValue()) !== "jkxw?") fail("keys fire in a field");
      await key("Escape", "w");
      if (!(await focused("#until", ""))) fail("w does not go to the day");
      await key("Escape", "x");
      if (!(await page.locator("input[value=reject]").isChecked())) fail("x does not reject");
      await key("Escape");
    },
    decide: async (reason) => {
      await key("a");
      await page.keyboard.type(reason);
      await moves("Control+Enter");
    },
    approve: async (reason) => {
      await key("A");
      await page.keyboard.type(reason);
      await moves("Control+Enter");
    },
    toEnvironment: async () => {
      await tabTo("main a[href*='/environments/staging?']");
      await enter();
    },
    plan: async (name) => {
      await tabTo("main button", name);
      await enter();
    },
    move: async (name, reason) => {
      await tabTo("#reason");
      await page.keyboard.type(reason);
      await tabTo("main button", name);
      await enter();
    },
    release: async (reason) => {
      await tabTo(".held input[name=reason]");
      await page.keyboard.type(reason);
      await enter();
    },
  };
}

async function story(page, by, name) {
  const shot = (step) => page.screenshot({ path: `${shots}/${name}-${step}.png`, fullPage: true });
  await by.start();
  await shot("1-sign-in");
  await by.signIn();
  await expectText(page, "Overview");
  await by.open();
  await shot("2-review");
  for (let decided = 0; await page.getByText("to decide").count(); decided++) {
    if (decided > 20) fail("decisions come to no end");
    await by.decide("callers moved to the new release");
  }
  await expectText(page, "policy passes");
  await shot("3-decided");
  await by.approve("reviewed one by one");
  await expectText(page, "reviewed one by one");
  const version = await page.locator("h1").textContent();
  await shot("4-version");
  await by.toEnvironment();
  await shot("5-environment");
  await by.plan("Look at the promotion");
  await expectText(page, "What has to be so");
  await shot("6-preflight");
  await by.move("Promote", "the reviewed release");
  await expectText(page, "the reviewed release");
  await by.plan("Look at the rollback");
  await expectText(page, "is then held");
  await shot("7-rollback");
  await by.move("Roll back", "agents loop");
  await expectText(page, `${version} is held`);
  await shot("8-held");
  await by.release("what was wrong is mended");
  await expectText(page, "agents loop");
  if (await page.getByText("is held").count()) fail("the hold is not released");
}

async function signedIn(context, secret = token) {
  const page = await watched(context);
  await page.goto(`${base}login`);
  await page.getByLabel("Your token").fill(secret);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForLoadState();
  return page;
}

const window1280 = { viewport: { width: 1280, height: 900 } };

// The draft of `prepared`, as the API gives it to the holder of a token; changed where there is a patch.
async function draft(secret, patch) {
  const address = `${base}api/v1/catalogs/shop/drafts/3`;
  const headers = { Authorization: `Bearer ${secret}` };
  let answer = await fetch(address, { headers });
  if (patch) {
    const more = { "If-Match": answer.headers.get("etag"), "Content-Type": "application/json-patch+json" };
    answer = await fetch(address, { method: "PATCH", headers: { ...headers, ...more }, body: JSON.stringify(patch(await answer.json())) });
  }
  const text = await answer.text();
  return answer.ok ? JSON.parse(text) : fail(`${address}: ${answer.status} ${text}`);
}

// Two people, each with a page open on which the other acts.
async function two(browser) {
  const other = env("OTHER");
  const contexts = [await browser.newContext(window1280), await browser.newContext(window1280)];
  const [ann, ben] = [await signedIn(contexts[0]), await signedIn(contexts[1], other)];
  const approve = async (page, reason) => {
    await page.locator("#approve-reason").fill(reason);
    const accept = page.locator("input[name=accept_breaking]");
    if (await accept.count()) await accept.check();
    await page.getByRole("button", { name: /^Approve/ }).click();
    await page.waitForLoadState();
  };
  const shot = (page, step) => page.screenshot({ path: `${shots}/two-${step}.png`, fullPage: true });

  // What is to be approved moves under an open page.
  for (const page of [ann, ben]) await page.goto(`${base}catalogs/shop/drafts/3`);
  const taken = (d) => [{ op: "remove", path: `/members/${d.members.findIndex((m) => m.tool === "track")}` }];
  await draft(other, taken);
  await approve(ann, "as I read it");
  await shot(ann, "1-stale-approval");
  await expectText(ann, "Somebody was faster");
  await expectText(ann, "Nothing was changed");
  await expectText(ann, "edited by ben");
  const now = await draft(token);
  if (now.status !== "pending") fail(`a draft that moved is ${now.status}`);
  if ((await ann.locator("#approve-reason").inputValue()) !== "as I read it") fail("what was typed is lost");
  // Looked at again it is approved, and the page that the other has open comes too late.
  await approve(ann, "as I read it now");
  await expectText(ann, "as I read it now");
  const version = await ann.locator("h1").textContent();
  await approve(ben, "I as well");
  await expectText(ben, "is approved already, by ann");
  await shot(ben, "2-decided-already");

  // The pointer moves under an open plan.
  await ann.goto(`${base}environments/staging`);
  await ann.getByRole("button", { name: "Look at the rollback" }).click();
  await expectText(ann, "is then held");
  const to = new URL(ann.url()).searchParams.get("version");
  await ben.goto(`${base}environments/staging`);
  await ben.locator("select[name=version]").first().selectOption(version);
  await ben.getByRole("button", { name: "Look at the promotion" }).click();
  await ben.getByLabel("Reason").fill("ben was faster");
  await ben.getByRole("button", { name: "Promote", exact: true }).click();
  await expectText(ben, "ben was faster");
  await ann.getByLabel("Reason").fill("agents loop");
  await ann.getByRole("button", { name: "Roll back", exact: true }).click();
  await shot(ann, "3-stale-generation");
  await expectText(ann, "Somebody was faster");
  await expectText(ann, `ben moved it to ${version}`);
  // Planned anew, from where it is now; nothing moved, and nothing has to be typed again.
  await expectText(ann, `${version} is then held`);
  if ((await ann.getByLabel("Reason").inputValue()) !== "agents loop") fail("the reason is lost");
  await ben.goto(`${base}environments/staging`);
  if (await ben.getByText("agents loop").count()) fail("a stale plan moved the pointer");
  await ann.getByRole("button", { name: "Roll back", exact: true }).click();
  await expectText(ann, `${version} is held`);
  await shot(ann, "4-rolled-back");
  const states = await Promise.all(contexts.map((context) => context.storageState()));
  writeFileSync(env("SESSIONS"), JSON.stringify({ states, version, to }));
}

// The service was started anew since: both are signed in still, and see what they did.
async function anew(browser) {
  const { states, version, to } = JSON.parse(readFileSync(env("SESSIONS"), "utf8"));
  const [ann, ben] = await Promise.all(states.map(async (storageState) => watched(await browser.newContext({ ...window1280, storageState }))));
  await ann.goto(`${base}environments/staging`);
  if (ann.url().includes("/login")) fail("a session ends with the process");
  await expectText(ann, `${version} is held`);
  await expectText(ann, "agents loop");
  await expectText(ann, to);
  await mouse(ann).release("what was wrong is mended");
  await expectText(ann, "agents loop");
  if (await ann.getByText("is held").count()) fail("the hold is not released");
  // Who signs out is out, and the other is not.
  await ann.getByRole("button", { name: "Sign out" }).click();
  await ann.goto(`${base}environments/staging`);
  await expectText(ann, "Your token");
  await ben.goto(`${base}events`);
  await expectText(ben, "environment.hold-released");
}

// A snapshot with its steps, without leaving the page; without the script, by the page that the form leads to.
async function servers(browser) {
  const context = await browser.newContext(window1280);
  const page = await signedIn(context);
  await page.goto(`${base}servers/orders`);
  const snapshot = (on) => on.getByRole("button", { name: "Snapshot now" }).click();
  await snapshot(page);
  await expectText(page, "1 tool: the first snapshot of this server");
  if ((await page.locator("#progress li.done").count()) !== 4) fail("not every step is done");
  if (new URL(page.url()).pathname !== "/servers/orders") fail("the page was left");
  await page.screenshot({ path: `${shots}/snapshot-followed.png`, fullPage: true });
  await snapshot(page);
  await expectText(page, "1 tool, identical to the snapshot before");
  if ((await page.locator("#progress .outcome").count()) !== 1) fail("an old outcome stands beside the new one");
  await page.getByRole("link", { name: "Show the listing" }).click();
  await page.locator(".timeline li").nth(1).waitFor();
  const { violations } = await new AxeBuilder({ page }).analyze();
  for (const v of violations) wrong.push(`a followed snapshot: ${v.id}`);

  await page.goto(`${base}servers`);
  await page.getByRole("link", { name: "import its configuration" }).click();
  const config = { mcpServers: { maps: { type: "http", url: "https://maps.example/mcp" }, files: { command: "npx", args: ["-y", "files"] } } };
  await page.locator("#text").fill(JSON.stringify(config));
  await page.getByRole("button", { name: "Import", exact: true }).click();
  await expectText(page, "toolpact servers add files -- npx -y files");
  await page.screenshot({ path: `${shots}/imported.png`, fullPage: true });
  await page.getByRole("link", { name: "maps" }).click();
  await expectText(page, "It was never asked");

  const storageState = await context.storageState();
  const plain = await watched(await browser.newContext({ ...window1280, storageState, javaScriptEnabled: false }));
  await plain.goto(`${base}servers/orders`);
  await snapshot(plain);
  await plain.waitForURL("**/servers/orders#listings");
  if ((await plain.locator(".timeline li").count()) !== 3) fail("a form without the script takes no snapshot");
}

// Every page that links lead to, one of each kind and query, from a few that none does.
async function pages(page, most) {
  const kind = (path) =>
    `/${path}`.replace(/[0-9a-f]{12}/g, "#").replace(/(\/(rules|tools|versions)\/)[^/?]+/g, "$1*").replace(/assume=\w+/, "assume").replace(/\d+/g, "9");
  const found = new Map();
  const next = ["", "nothing", "catalogs/nothing", "servers?nothing=1", "search?q=order", "search?q=nothing-like-it", "diff?baseline=staging&candidate=production"];
  while (next.length && found.size < most) {
    const path = next.shift();
    if (found.has(kind(path))) continue;
    found.set(kind(path), path);
    await page.goto(base + path);
    const links = await page.locator("a[href^='/']").evaluateAll((all) => all.map((a) => a.getAttribute("href")));
    // Where a form that only asks would lead.
    const asked = await page.locator("form[method=get]").evaluateAll((forms) =>
      forms.filter((f) => f.checkValidity()).map((f) => `${new URL(f.action).pathname}?${new URLSearchParams(new FormData(f))}`),
    );
    next.push(...[...links, ...asked].map((l) => l.slice(1).split("#")[0]).filter((l) => !l.startsWith("api/") && !l.startsWith("login")));
  }
  return [...found.values()];
}

// Registers the check of a build that changes and takes away what is live somewhere, as its pipeline would.
async function registered(page) {
  await page.goto(base);
  const status = await page.evaluate(async () => {
    const read = async (path) => (await fetch(`/api/v1/${path}`)).json();
    const [at] = (await read("environments")).items;
    const live = `environments/${at.environment}/catalog?catalog=${at.catalog}`;
    const [{ server }] = (await read(live)).members;
    const { tools } = await read(`${live}&format=mcp&server=${server}`);
    const words = tools[0].description;
    const build = tools.slice(0, -1).map((tool) => ({ ...tool, description: `${tool.description} ${words}`, inputSchema: { ...tool.inputSchema, required: [words] } }));
    const context = { repository: words.slice(0, 100), branch: words.slice(0, 100), commit: "3f9c2d1", pullRequest: "42" };
    const body = JSON.stringify({ environment: at.environment, catalog: at.catalog, servers: [{ server, listing: { tools: build } }], context });
    return (await fetch("/api/v1/checks", { method: "POST", headers: { "content-type": "application/json" }, body })).status;
  });
  if (status !== 201) fail(`a check is answered with ${status}`);
}

async function hostile(browser) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await signedIn(context);
  await registered(page);
  const all = await pages(page, 400);
  for (const path of ["checks", "checks/1"]) if (!all.includes(path)) fail(`no page leads to ${path}`);
  for (const path of all) {
    await page.goto(base + path);
    await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
    const links = await page.locator("a[href]").evaluateAll((links) => links.map((a) => a.href));
    for (const href of links.filter((href) => !href.startsWith(base))) wrong.push(`${path}: leads to ${href}`);
    const hot = await page.evaluate(() => [...document.querySelectorAll("*")].some((e) => [...e.attributes].some((a) => /^on/i.test(a.name))));
    if (hot) wrong.push(`${path}: an element has a handler`);
    await narrow(page, path);
    await page.mouse.move(300, 300);
  }
  console.log(`${all.length} pages hold what a hostile server wrote`);
  await context.close();
}

// Nothing makes a page wider than the window.
async function narrow(page, path) {
  const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  if (wide > window) {
    const who = await page.evaluate(() => {
      const all = [...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1);
      return all.slice(0, 3).map((e) => `${e.tagName}.${e.className}`).join(", ");
    });
    wrong.push(`${path} is ${wide} wide in a window of ${window}: ${who}`);
  }
}

// One of each thing that a service which just began has none of: a page says more with them than without.
async function populated(page) {
  const refused = await page.evaluate(async () => {
    const read = async (path) => (await fetch(`/api/v1/${path}`)).json();
    const [{ name: catalog }] = (await read("catalogs")).items;
    const [{ id }] = (await read(`catalogs/${catalog}/drafts`)).items;
    const { report } = await read(`catalogs/${catalog}/drafts/${id}`);
    const changes = report.tools.flatMap((tool) => tool.findings).filter((f) => f.level === "breaking").map((f) => f.fingerprint);
    const send = async (method, path, body, headers = {}) => {
      const more = { "content-type": "application/json", ...headers };
      const answer = await fetch(`/api/v1/${path}`, { method, headers: more, body: JSON.stringify(body) });
      return answer.ok ? "" : `${method} ${path}: ${answer.status} ${await answer.text()}`;
    };
    const end = new Date(Date.now() + 30 * 86400000).toISOString();
    const answers = [
      await send("PUT", "teams/shopping", { members: ["ann", "ben@example.com"], servers: ["orders"] }, { "if-none-match": "*" }),
      await send("POST", "webhooks", { name: "on-call", url: "https://hooks.example.com/services/1", kinds: ["draft."], severities: ["breaking"] }),
      await send("POST", "tokens", { owner: "shop", name: "the pipeline of the shop", kind: "ci", roles: ["author"], expiresAt: end }),
      await send("POST", "environments/staging/freeze", { reason: "the end of the year" }),
      await send("POST", `catalogs/${catalog}/decisions`, { changes: changes.slice(0, 1), ruling: "accept", reason: "agents move next week", expires: end }),
    ];
    return answers.filter((answer) => answer);
  });
  if (refused.length) fail(refused.join("; "));
}

// How much of a page moved under its reader's eyes, how large it is, and what else it asked for.
async function calm(page, path) {
  const { shift, bytes, more } = await page.evaluate(() => ({
    shift: window.shifted,
    bytes: performance.getEntriesByType("navigation")[0].decodedBodySize,
    more: performance.getEntriesByType("resource").length,
  }));
  if (shift > 0.01) wrong.push(`${path}: its layout shifts by ${shift}`);
  if (bytes > 300000) wrong.push(`${path} has ${bytes} bytes`);
  if (more > 5) wrong.push(`${path} asks for ${more} things beside itself`);
}

async function looks(browser) {
  const first = await browser.newContext();
  const visitor = await signedIn(first);
  await registered(visitor);
  await populated(visitor);
  const all = ["login", ...(await pages(visitor, 80))];
  await first.close();
  for (const colorScheme of ["light", "dark"]) {
    for (const [width, height] of [[1280, 900], [390, 844]]) {
      const context = await browser.newContext({ colorScheme, viewport: { width, height } });
      await context.addInitScript(() => {
        window.shifted = 0;
        new PerformanceObserver((list) => list.getEntries().forEach((e) => (window.shifted += e.value))).observe({ type: "layout-shift", buffered: true });
      });
      const page = await signedIn(context);
      for (const path of all) {
        await page.goto(base + path);
        await narrow(page, `${path} (${width})`);
        await calm(page, `${path} (${width})`);
        // 2.2's target size is asked for as well.
        const { violations } = await new AxeBuilder({ page }).withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]).analyze();
        for (const v of violations) {
          const where = v.nodes.slice(0, 3).map((n) => `${n.target} ${n.failureSummary?.split("\n").pop()?.trim()}`);
          wrong.push(`${path} ${colorScheme} ${width}: ${v.id}: ${where.join(" | ")}`);
        }
        const name = (path || "overview").replace(/[0-9a-f]{12}/g, "").replace(/[^a-z0-9]+/gi, "-").slice(0, 80);
        await page.screenshot({ path: `${shots}/${name}-${colorScheme}-${width}.png`, fullPage: true });
      }
      await context.close();
    }
  }
  console.log(`${all.length} pages were looked at four times`);
}

// What Markdown became in another's hands: every mark is an effect, what a server wrote is text, and nothing is asked for.
async function markdown(browser) {
  const page = await watched(await browser.newContext({ viewport: { width: 800, height: 900 } }));
  for (const { name, html, says, hides } of JSON.parse(readFileSync(env("FILES"), "utf8"))) {
    await page.setContent(`<!doctype html><html lang="en"><title>${name}</title><body>${html}</body></html>`);
    const shown = () => page.locator("body").innerText();
    for (const text of hides) if ((await shown()).includes(text)) wrong.push(`${name} shows "${text}" before it is opened`);
    for (const summary of await page.locator("summary").all()) await summary.click();
    const text = await shown();
    for (const said of [...says, ...hides]) if (!text.includes(said)) wrong.push(`${name} does not say "${said}": ${text}`);
    for (const mark of ["**", "```", "###", "<details", "<summary", "<code", "<br", "<span", "&#", "]("]) {
      if (text.split("<img src=x onerror=1>`|**[a](https://h/)@ann #1 </details>").join("").includes(mark)) wrong.push(`${name} shows "${mark}": ${text}`);
    }
    if (await page.locator("a, img, script, style, iframe, form").count()) wrong.push(`${name} holds more than text`);
    await page.screenshot({ path: `${shots}/markdown-${name}.png`, fullPage: true });
  }
}

const browser = await chromium.launch({ executablePath: env("CHROMIUM"), args: ["--no-sandbox"] });
try {
  const what = env("DO");
  if (what === "hostile") await hostile(browser);
  else if (what === "two") await two(browser);
  else if (what === "anew") await anew(browser);
  else if (what === "servers") await servers(browser);
  else if (what === "looks") await looks(browser);
  else if (what === "markdown") await markdown(browser);
  else {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const page = await watched(context);
    page.setDefaultTimeout(20000);
    await story(page, what === "mouse" ? mouse(page) : keyboard(page), what);
  }
} catch (e) {
  wrong.push(String(e));
} finally {
  await browser.close();
}
for (const reason of new Set(wrong)) console.log(reason);
process.exit(wrong.length ? 1 : 0);
