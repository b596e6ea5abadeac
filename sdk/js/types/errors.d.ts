/** Every error this library throws, one tree. */
import type { JsonObject } from "./wire.js";

export class RestanteError extends Error {
  /** Whether the same call, with the same keys, may be sent again as it is. */
  retryable: boolean;
}
export class ConfigurationError extends RestanteError {}
export class UnexpectedAnswer extends RestanteError {}
export class Unreachable extends RestanteError {
  mayHaveHappened: boolean;
}
export class TimedOut extends Unreachable {}
export class OAuthError extends RestanteError {
  error: string;
  description: string;
  status: number;
}
export class InvalidClient extends OAuthError {}
export class InvalidScope extends OAuthError {}

export interface Problem {
  slug: string;
  status: number;
  title: string;
  detail: string;
  instance: string;
  request_id: string;
  retry_after_seconds: number | null;
  members: JsonObject;
}
export class ApiError extends RestanteError {
  readonly problem: Problem;
  retried: boolean;
  readonly status: number;
  readonly slug: string;
  readonly retryAfterSeconds: number | null;
  member(name: string): any;
}
export class BadRequest extends ApiError {}
export class ValidationFailed extends ApiError {
  readonly errors: { pointer: string; detail: string }[];
}
export class RecipientRefused extends ValidationFailed {
  readonly recipients: string[];
}
export class IdempotencyKeyReused extends ValidationFailed {}
export class Unauthenticated extends ApiError {}
export class Forbidden extends ApiError {}
export class InsufficientScope extends Forbidden {
  readonly requiredScope: string | null;
}
export class NotFound extends ApiError {}
export class Conflict extends ApiError {}
export class StaleClaim extends Conflict {
  readonly reason: string;
  readonly currentGeneration: number | null;
}
export class EventFinal extends Conflict {}
export class IdempotencyInFlight extends Conflict {}
export class TurnConflict extends Conflict {
  readonly failures: { part: string; index: number; problem: JsonObject }[];
  readonly isStale: boolean;
}
export class CursorGone extends ApiError {
  readonly reason: string;
  readonly lost: { from: number; to: number; count: number; unsettled: number } | null;
  readonly head: number;
  readonly epoch: string;
  readonly stateUrl: string | null;
}
export class RevisionGone extends ApiError {}
export class VersionConflict extends ApiError {
  readonly currentVersion: number | null;
}
export class PayloadTooLarge extends ApiError {}
export class RateLimited extends ApiError {}
export class InboxFull extends ApiError {
  readonly recipients: string[];
}
export class ServerFailure extends ApiError {}
export class Overloaded extends ServerFailure {}
export class OutcomeUnknown extends ServerFailure {}

/** What passes by itself: the same call may be made again later. */
export function isPassing(error: unknown): boolean;
/** Refused for what it says: said again it would be again. */
export function isRefused(error: unknown): boolean;
/** What an operator can give back: a grant, a credential, the agent itself. */
export function isAccess(error: unknown): boolean;
