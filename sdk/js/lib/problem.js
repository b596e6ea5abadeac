/** From an answer that refuses to the error it stands for (RFC 9457). */
import * as errors from "./errors.js";

const BY_SLUG = {
  "validation-error": errors.ValidationFailed,
  "recipient-refused": errors.RecipientRefused,
  "idempotency-key-reused": errors.IdempotencyKeyReused,
  "idempotency-in-flight": errors.IdempotencyInFlight,
  unauthenticated: errors.Unauthenticated,
  "insufficient-scope": errors.InsufficientScope,
  "not-found": errors.NotFound,
  "stale-claim": errors.StaleClaim,
  "event-final": errors.EventFinal,
  "turn-conflict": errors.TurnConflict,
  "cursor-gone": errors.CursorGone,
  "version-conflict": errors.VersionConflict,
  "payload-too-large": errors.PayloadTooLarge,
  "rate-limited": errors.RateLimited,
  "inbox-full": errors.InboxFull,
  overloaded: errors.Overloaded,
  "outcome-unknown": errors.OutcomeUnknown,
};

/** For slugs added after this version, and for proxies that speak no problem+json. */
const BY_STATUS = {
  400: errors.BadRequest,
  401: errors.Unauthenticated,
  403: errors.Forbidden,
  404: errors.NotFound,
  409: errors.Conflict,
  410: errors.CursorGone,
  412: errors.VersionConflict,
  413: errors.PayloadTooLarge,
  422: errors.ValidationFailed,
  429: errors.RateLimited,
};

/** What a proxy may say of itself; any other 4xx without a problem document is not Restante's. */
const ANYBODYS = [401, 403, 408, 413, 429];

/** The typed error for an answer of 400 or above. */
export function errorOf({ status, headers, content }) {
  const members = documentOf(headers, content);
  if (!("type" in members) && status < 500 && !ANYBODYS.includes(status)) {
    const kind = headers.get("content-type") ?? "no content type";
    return new errors.UnexpectedAnswer(
      `HTTP ${status} with ${kind} instead of a problem document; is this URL a Restante server?`,
    );
  }
  return errorFromMembers(members, {
    status,
    requestId: headers.get("x-request-id") ?? "",
    retryAfterSeconds: retryAfter(headers),
  });
}

/** The typed error for a problem document, also for one inside a settle result. */
export function errorFromMembers(members, { status, requestId = "", retryAfterSeconds = null }) {
  const slug = String(members.type ?? "").replace(/\/+$/, "").split("/").pop() || `http-${status}`;
  const kind = Object.hasOwn(BY_SLUG, slug) ? BY_SLUG[slug] : kindByStatus(status, members);
  return new kind({
    slug,
    status,
    title: String(members.title ?? ""),
    detail: String(members.detail ?? ""),
    instance: String(members.instance ?? ""),
    request_id: requestId || String(members.request_id ?? ""),
    retry_after_seconds: retryAfterSeconds,
    members,
  });
}

function kindByStatus(status, members) {
  if (status === 410 && !("head" in members)) {
    return "memory_revision" in members ? errors.RevisionGone : errors.ApiError;
  }
  return BY_STATUS[status] ?? (status >= 500 ? errors.ServerFailure : errors.ApiError);
}

/**
 * `Retry-After` in seconds, from either form of RFC 9110 10.2.3; null when absent or odd. A date is measured
 * against the answer's own `Date`, so a clock that is off does no harm.
 */
export function retryAfter(headers) {
  const text = (headers.get("retry-after") ?? "").trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  const seconds = (Date.parse(text) - Date.parse(headers.get("date") ?? "")) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
}

function documentOf(headers, content) {
  if (!(headers.get("content-type") ?? "").includes("json")) return {};
  try {
    const members = JSON.parse(content);
    return members !== null && typeof members === "object" && !Array.isArray(members) ? members : {};
  } catch {
    return {};
  }
}
