// Drives the pages in Chromium. tests/it/web/browser.rs starts the service and says in the environment what to do:
// PACKAGES (a folder with playwright-core and @axe-core/playwright), CHROMIUM, BASE, TOKEN, SHOTS (a folder), DO (mouse,
// keyboard, looks, hostile). Ends with 1 and the reasons where something is not as it should be.
import { createRequire } from "node:module";
import { mkdirSync } from "node:fs";

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

async function signedIn(context) {
  const page = await watched(context);
  await page.goto(`${base}login`);
  await page.getByLabel("Your token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForLoadState();
  return page;
}

// Every page that links lead to, one of each kind and query, from a few that none does.
async function pages(page, most) {
  const kind = (path) =>
    `/${path}`.replace(/[0-9a-f]{12}/g, "#").replace(/(\/(rules|tools|versions)\/)[^/?]+/g, "$1*").replace(/assume=\w+/, "assume").replace(/\d+/g, "9");
  const found = new Map();
  const next = ["", "nothing", "catalogs/nothing", "servers?nothing=1", "diff?baseline=staging&candidate=production"];
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

async function hostile(browser) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await signedIn(context);
  const all = await pages(page, 400);
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

async function looks(browser) {
  const first = await browser.newContext();
  const all = ["login", ...(await pages(await signedIn(first), 60))];
  await first.close();
  for (const colorScheme of ["light", "dark"]) {
    for (const [width, height] of [[1280, 900], [390, 844]]) {
      const context = await browser.newContext({ colorScheme, viewport: { width, height } });
      const page = await signedIn(context);
      for (const path of all) {
        await page.goto(base + path);
        await narrow(page, `${path} (${width})`);
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

const browser = await chromium.launch({ executablePath: env("CHROMIUM"), args: ["--no-sandbox"] });
try {
  const what = env("DO");
  if (what === "hostile") await hostile(browser);
  else if (what === "looks") await looks(browser);
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
