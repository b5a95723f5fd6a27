// An issuer, npm's `oidc-provider`, at which whoever was named last at `/as?…` is signed in without being asked.
// `node login.mjs FOLDER PORT CALLBACK`: the folder is the one that the package is installed in.
import { createServer } from "node:http";

const [folder, port, callback] = process.argv.slice(2);
const { default: Provider } = await import(`${folder}/node_modules/oidc-provider/lib/index.js`);
const base = `http://127.0.0.1:${port}`;

let account = { sub: "nobody" };

const issuer = new Provider(base, {
  clients: [
    {
      client_id: "toolpact",
      client_secret: "a-secret-of-forty-characters-or-even-more",
      grant_types: ["authorization_code"],
      redirect_uris: [callback],
      response_types: ["code"],
    },
  ],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["groups"] },
  pkce: { required: () => true },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ ...account, sub }) }),
});
const issue = issuer.callback();

const interact = async (request, response) => {
  const { prompt, params, grantId } = await issuer.interactionDetails(request, response);
  if (prompt.name === "login") {
    return issuer.interactionFinished(request, response, { login: { accountId: account.sub } });
  }
  const grant = grantId
    ? await issuer.Grant.find(grantId)
    : new issuer.Grant({ accountId: account.sub, clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  await issuer.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
};

const server = createServer((request, response) => {
  const url = new URL(request.url, base);
  if (url.pathname === "/as") {
    const { sub, email, verified, groups } = Object.fromEntries(url.searchParams);
    account = { sub, email, email_verified: verified === "true", groups: groups ? groups.split(" ") : [] };
    response.end("ok");
  } else if (url.pathname.startsWith("/interaction/")) {
    interact(request, response).catch((e) => response.writeHead(500).end(String(e)));
  } else {
    issue(request, response);
  }
});
server.listen(Number(port), "127.0.0.1", () => console.error(`running on ${base}`));
