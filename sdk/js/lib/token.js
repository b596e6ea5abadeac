/** Access tokens: by client_credentials (RFC 6749 2.3.1, 4.4), or from whoever hands a page its tokens. */
import { ConfigurationError, InvalidClient, InvalidScope, OAuthError, UnexpectedAnswer } from "./errors.js";
import { errorOf } from "./problem.js";

const TOKEN_PATH = "/oauth/token";
const KINDS = { invalid_client: InvalidClient, invalid_scope: InvalidScope };

/** A machine principal's id and secret. `scope` null: the server's default. */
export class ClientCredentials {
  #secret;

  constructor(clientId, clientSecret, scope = null) {
    if (!clientId || !clientSecret) {
      throw new ConfigurationError("clientId and clientSecret must not be empty");
    }
    this.principalId = clientId;
    this.scope = scope;
    this.#secret = clientSecret;
  }

  /** The request for a token; parameters are in the body, never in the address. */
  request(baseUrl, scope) {
    const fields = { grant_type: "client_credentials", ...((scope ?? this.scope) && { scope: scope ?? this.scope }) };
    // both parts form-encoded first, as RFC 6749 asks
    const pair = [this.principalId, this.#secret].map(encodeURIComponent).join(":");
    return {
      method: "POST",
      url: baseUrl + TOKEN_PATH,
      headers: {
        accept: "application/json",
        "content-type": "application/x-www-form-urlencoded",
        authorization: `Basic ${btoa(pair)}`,
      },
      content: new URLSearchParams(fields).toString(),
    };
  }

  /** The token of an answer; throws what a refusal stands for. */
  read(answer) {
    if (answer.status !== 200) throw tokenError(answer);
    let members = null;
    try {
      members = JSON.parse(answer.content);
    } catch {
      // told below
    }
    return tokenOf(members, answer.sentAt);
  }
}

/**
 * Tokens that a page is handed by its own server: /oauth/ is not open to pages, and a secret is not for them.
 * `provide({scope, fresh})` resolves to {access_token, expires_in}; `fresh`: made in this minute.
 */
export class HandedTokens {
  constructor(provide, agentId) {
    this.principalId = agentId;
    this.scope = null;
    this.provide = provide;
  }
}

/** A token is renewed a minute before its end, or at 80 % of a shorter life, counted from the request. */
export function tokenOf(members, issuedAt) {
  const value = members?.access_token;
  const bearer = String(members?.token_type ?? "bearer").toLowerCase() === "bearer";
  if (typeof value !== "string" || !value || !bearer) {
    throw new UnexpectedAnswer("a token was asked for and no bearer token came");
  }
  const life = Number(members.expires_in ?? 300);
  return { value, refreshAt: issuedAt + Math.max(life - 60, life * 0.8) };
}

/** RFC 6749 5.2. */
function tokenError(answer) {
  if (answer.status === 429 || answer.status >= 500) return errorOf(answer);
  try {
    const { error, error_description: text = "" } = JSON.parse(answer.content);
    if (typeof error === "string") {
      return new (KINDS[error] ?? OAuthError)(error, String(text), answer.status);
    }
  } catch {
    // a proxy's page
  }
  return errorOf(answer);
}
