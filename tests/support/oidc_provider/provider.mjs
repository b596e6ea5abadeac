// An identity provider for tests: `node provider.mjs PORT REDIRECT_URI`. Any name signs in, with any password.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.cwd()}/`);
const { default: Provider } = await import(pathToFileURL(require.resolve("oidc-provider")));
const [port, redirectUri] = process.argv.slice(2);

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: "restante",
      client_secret: "a-client-secret-for-tests",
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code"],
      response_types: ["code"],
    },
  ],
  claims: { email: ["email", "email_verified"], groups: ["groups"] },
  scopes: ["openid", "email", "groups"],
  cookies: { keys: ["for tests"] },
  pkce: { required: () => true },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({
      sub: id,
      email: `${id}@example.com`,
      email_verified: !id.startsWith("unverified"),
      groups: [`${id}s`],
    }),
  }),
});
provider.listen(Number(port), "127.0.0.1");
