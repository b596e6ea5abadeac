// Runs the page's snippets (verifiers.mjs beside it) on requests from stdin: a verdict each, by secret and by key.
import { readFileSync } from "node:fs";
import { verifyByKey, verifyBySecret } from "./verifiers.mjs";

const { jwks, requests } = JSON.parse(readFileSync(0));
const verdict = async (verify) => {
  try {
    await verify();
    return "good";
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
};
const verdicts = [];
for (const { secret, body, ...request } of requests) {
  const bytes = Buffer.from(body, "base64");
  verdicts.push({
    secret: await verdict(() => verifyBySecret(secret, request.headers, bytes)),
    key: await verdict(() => verifyByKey(jwks, { ...request, body: bytes })),
  });
}
console.log(JSON.stringify(verdicts));
