// An authorization server, npm's `oidc-provider`, that knows one client; and behind it an MCP server that wants its tokens.
// `node issuer.mjs FOLDER PORT`: the folder is the one that the package is installed in.
import { createServer } from "node:http";
import { text } from "node:stream/consumers";

const [folder, port] = process.argv.slice(2);
const { default: Provider, errors } = await import(`${folder}/node_modules/oidc-provider/lib/index.js`);
const base = `http://127.0.0.1:${port}`;

const issuer = new Provider(base, {
  clients: [
    {
      client_id: "toolpact",
      client_secret: "a-secret-of-forty-characters-or-even-more",
      grant_types: ["client_credentials"],
      redirect_uris: [],
      response_types: [],
    },
  ],
  scopes: ["tools:read"],
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, resource) => {
        if (resource !== `${base}/mcp`) throw new errors.InvalidTarget();
        return { scope: "tools:read", accessTokenFormat: "opaque", audience: resource };
      },
    },
  },
});
const issue = issuer.callback();

const json = (response, status, body, headers = {}) => {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
};

const list = async (request, response) => {
  const token = await issuer.ClientCredentials.find((request.headers.authorization ?? "").replace(/^Bearer /, ""));
  if (!token?.isValid || token.aud !== `${base}/mcp` || token.scope !== "tools:read") {
    const metadata = `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource/mcp"`;
    return json(response, 401, {}, { "www-authenticate": metadata });
  }
  const { id, method } = JSON.parse(await text(request));
  const result =
    method === "server/discover"
      ? { supportedVersions: ["2026-07-28"], capabilities: { tools: {} }, resultType: "complete" }
      : { tools: [{ name: "a", inputSchema: { type: "object" } }], resultType: "complete" };
  json(response, 200, { jsonrpc: "2.0", id, result });
};

const server = createServer((request, response) => {
  if (request.url === "/.well-known/oauth-protected-resource/mcp") {
    json(response, 200, { resource: `${base}/mcp`, authorization_servers: [base] });
  } else if (request.url === "/mcp") {
    list(request, response);
  } else {
    issue(request, response);
  }
});
server.listen(Number(port), "127.0.0.1", () => console.error(`running on ${base}`));
