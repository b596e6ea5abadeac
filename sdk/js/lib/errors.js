/**
 * Every error this library throws, one tree under RestanteError.
 *
 * ApiError is an answer of the server that refused the call (problem+json, RFC 9457); Unreachable is no
 * answer at all; OAuthError is the token endpoint's answer (RFC 6749 5.2). `retryable` says whether the
 * same call, with the same keys, may be sent again as it is.
 */
export class RestanteError extends Error {
  retryable = false;

  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** A setting is missing or contradicts another; the message names it and the remedy. */
export class ConfigurationError extends RestanteError {}

/** The server answered something this version cannot read (a proxy's page, a missing member). */
export class UnexpectedAnswer extends RestanteError {}

/** No answer came. `mayHaveHappened` is false only when the request surely never reached the server. */
export class Unreachable extends RestanteError {
  retryable = true;

  constructor(message, { mayHaveHappened = true, cause } = {}) {
    super(message, { cause });
    this.mayHaveHappened = mayHaveHappened;
  }
}

/** The server did not answer within the read timeout, or a stream fell silent. */
export class TimedOut extends Unreachable {}

/** The token endpoint refused. `error` is the code of RFC 6749, `description` its text. */
export class OAuthError extends RestanteError {
  constructor(error, description = "", status = 400) {
    super(description ? `${error}: ${description}` : error);
    Object.assign(this, { error, description, status });
  }
}
export class InvalidClient extends OAuthError {}
export class InvalidScope extends OAuthError {}

/**
 * The server refused the call. `problem` holds what it said: {slug, status, title, detail, instance,
 * request_id, retry_after_seconds, members}. `retried`: an earlier try of the same call got no answer
 * and may be what this one met.
 */
export class ApiError extends RestanteError {
  retried = false;

  constructor(problem) {
    const told = problem.detail || problem.title || `HTTP ${problem.status}`;
    const request = problem.request_id ? `, request ${problem.request_id}` : "";
    super(`${told} [${problem.slug}${request}]`);
    this.problem = problem;
  }

  get status() {
    return this.problem.status;
  }

  get slug() {
    return this.problem.slug;
  }

  /** What the server asked to wait, seconds; null when it did not say. */
  get retryAfterSeconds() {
    return this.problem.retry_after_seconds;
  }

  member(name) {
    return this.problem.members[name] ?? null;
  }
}

/** 400: not a JSON object, ambiguous credentials, a page token that is not ours, a digest. */
export class BadRequest extends ApiError {}

/** 422: a member is wrong. `errors` are {pointer, detail} objects. */
export class ValidationFailed extends ApiError {
  get errors() {
    const found = this.member("errors");
    return Array.isArray(found) ? found : [];
  }
}
export class RecipientRefused extends ValidationFailed {
  get recipients() {
    return this.member("recipients") ?? [];
  }
}
export class IdempotencyKeyReused extends ValidationFailed {}

/** 401, also with a token just issued: revoked, disabled, or a signature that does not hold. */
export class Unauthenticated extends ApiError {}
export class Forbidden extends ApiError {}

/** 403: the token lacks `requiredScope`. */
export class InsufficientScope extends Forbidden {
  get requiredScope() {
    return this.member("required_scope");
  }
}

/** 404: absent, or nothing that this principal may see; the two look alike. */
export class NotFound extends ApiError {}
export class Conflict extends ApiError {}

/**
 * 409: this claim is over; nothing was changed. Stop the work: somebody else may hold it.
 * `reason`: lease_expired, released, reclaimed, completed, cancelled, quarantined, expired, never_claimed.
 */
export class StaleClaim extends Conflict {
  get reason() {
    return this.member("reason") ?? "";
  }

  get currentGeneration() {
    return this.member("current_generation");
  }
}
export class EventFinal extends Conflict {}

/** 409: the first call with this key is still running. */
export class IdempotencyInFlight extends Conflict {
  retryable = true;
}

/** 409: a part of the turn was refused, so nothing of it was done. `failures`: {part, index, problem}. */
export class TurnConflict extends Conflict {
  get failures() {
    const found = this.member("failures");
    return Array.isArray(found) ? found : [];
  }

  /** Whether a claim that it settles is over. */
  get isStale() {
    return this.failures.some(({ part }) => ["ack", "release", "reject"].includes(part));
  }
}

/**
 * 410: this cursor or epoch can no longer be read from. Never repeat it: fetch `stateUrl` once and go on
 * from the cursor it says. `lost` says which part is gone (null when the epoch changed).
 */
export class CursorGone extends ApiError {
  get reason() {
    return this.member("reason") ?? "";
  }

  get lost() {
    return this.member("lost");
  }

  get head() {
    return this.member("head") ?? 0;
  }

  get epoch() {
    return this.member("epoch") ?? "";
  }

  get stateUrl() {
    return this.member("state_url");
  }
}

/** 410: what was deleted from memory after this revision is no longer known: fetch the state. */
export class RevisionGone extends ApiError {}

/** 412: the key is at another version than the one named; `currentVersion` null: not there. */
export class VersionConflict extends ApiError {
  get currentVersion() {
    return this.member("current_version");
  }
}
export class PayloadTooLarge extends ApiError {}

/** 429: slow down for `retryAfterSeconds`. */
export class RateLimited extends ApiError {
  retryable = true;
}

/** 429: a recipient's inbox is at its limit; nothing was written. For the producer to slow down. */
export class InboxFull extends ApiError {
  get recipients() {
    return this.member("recipients") ?? [];
  }
}

/** 5xx: the server, or a proxy before it, failed. */
export class ServerFailure extends ApiError {
  retryable = true;
}

/** 503: no database slot was free; nothing was changed. */
export class Overloaded extends ServerFailure {}

/** 503: the server lost its database during COMMIT. Repeat with the same key to learn. */
export class OutcomeUnknown extends ServerFailure {}

const any = (kinds) => (error) => kinds.some((kind) => error instanceof kind);

/** What passes by itself: the same call may be made again later. Anything else needs somebody. */
export const isPassing = any([Unreachable, ServerFailure, RateLimited, UnexpectedAnswer]);

/** Refused for what it says: said again it would be again. */
export const isRefused = any([BadRequest, ValidationFailed, PayloadTooLarge]);

/** What an operator can give back: a grant, a credential, the agent itself. */
export const isAccess = any([Unauthenticated, InsufficientScope, OAuthError]);
