// A certified OpenID provider (npm: oidc-provider) with three people; settings as JSON on the command line.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const at = createRequire(`${process.argv[2]}/`).resolve("oidc-provider");
const { default: Provider } = await import(pathToFileURL(at).href);
const { port, home, secret, conform, scope } = JSON.parse(process.argv[3]);
const groups = { kim: ["ml"], olga: ["oncall", "others"], sam: ["sre"], eve: ["marketing"] };

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: "triage", client_secret: secret, redirect_uris: [`${home}/auth/callback`], post_logout_redirect_uris: [`${home}/`] }],
  // As the standard has it, claims of scopes are told by UserInfo alone.
  conformIdTokenClaims: conform,
  scopes: ["openid", "profile", "email", "groups"],
  claims: { openid: ["sub", ...(scope ? [] : ["groups"])], email: ["email", "email_verified"], groups: ["groups"], profile: ["name"] },
  cookies: { keys: ["not a secret of anybody's"] },
  pkce: { required: () => true },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true, groups: groups[id] }) }),
});
provider.listen(port, "127.0.0.1", () => console.log("ready"));
