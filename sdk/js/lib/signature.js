/** Signing a request: RFC 9421 with the contract's profile, RFC 9530 for the body, by WebCrypto. */
import { base64, base64url, randomBytes, sha256, utf8 } from "./bytes.js";
import { platform } from "./platform.js";

/** How long a signature is good: enough for a slow network and a clock that is a little off. */
const WINDOW_SECONDS = 120;

/** WebCrypto's parameters, by the name that RFC 9421 gives an algorithm. */
const ALGORITHMS = {
  ed25519: { name: "Ed25519" },
  "ecdsa-p256-sha256": { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  "rsa-pss-sha512": { name: "RSA-PSS", hash: "SHA-512", saltLength: 64 },
  "hmac-sha256": { name: "HMAC", hash: "SHA-256" },
};

/** A key that the server knows as `keyId`; `key` is a CryptoKey that may sign by `algorithm`. */
export function signingKey(keyId, algorithm, key) {
  const how = ALGORITHMS[algorithm];
  return {
    keyId,
    algorithm,
    key,
    sign: async (bytes) => new Uint8Array(await platform.crypto.subtle.sign(how, key, bytes)),
  };
}

/** A CryptoKey from a private JWK, or of hmac-sha256 from the UTF-8 bytes of a secret. */
export function importKey(algorithm, material, extractable = false) {
  const [form, data] = typeof material === "string" ? ["raw", utf8(material)] : ["jwk", material];
  return platform.crypto.subtle.importKey(form, data, ALGORITHMS[algorithm], extractable, ["sign"]);
}

/** A new pair of Ed25519, or of P-256 where WebCrypto has no Ed25519: {algorithm, privateKey, publicJwk}. */
export async function newPair(extractable) {
  for (const algorithm of ["ed25519", "ecdsa-p256-sha256"]) {
    try {
      const how = ALGORITHMS[algorithm];
      const pair = await platform.crypto.subtle.generateKey(how, extractable, ["sign", "verify"]);
      const { kty, crv, x, y } = await platform.crypto.subtle.exportKey("jwk", pair.publicKey);
      return { algorithm, privateKey: pair.privateKey, publicJwk: { kty, crv, x, ...(y && { y }) } };
    } catch (error) {
      if (algorithm !== "ed25519") throw error;
    }
  }
}

/**
 * The fields that make a request signed. `target`: path and query exactly as they are sent. `authority`: as in
 * the Host field, in lower case and without the scheme's default port. `now`: the server's time, whole seconds.
 */
export async function signatureFields(key, { now, method, target, authority, content, nonce, windowSeconds }) {
  const mark = target.indexOf("?");
  const path = mark < 0 ? target : target.slice(0, mark);
  const digest = `sha-256=:${base64(await sha256(content))}:`;
  const values = { "@method": method, "@path": path || "/" };
  if (mark >= 0) values["@query"] = target.slice(mark);
  Object.assign(values, { "@authority": authority, "content-digest": digest });
  const parameters =
    `(${Object.keys(values).map(quoted).join(" ")})` +
    `;created=${now};expires=${now + (windowSeconds ?? WINDOW_SECONDS)}` +
    `;nonce=${quoted(nonce ?? base64url(randomBytes(18)))};keyid=${quoted(key.keyId)}`;
  const lines = Object.entries(values).map(([name, value]) => `${quoted(name)}: ${value}`);
  const base = [...lines, `"@signature-params": ${parameters}`].join("\n");
  return {
    "content-digest": digest,
    "signature-input": `sig1=${parameters}`,
    signature: `sig1=:${base64(await key.sign(utf8(base)))}:`,
  };
}

/** A structured field's string (RFC 8941, section 3.3.3). */
const quoted = (text) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
