/** What travels, in the contract's words. Instants are RFC 3339 texts; members that are not named here are kept. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

export type EventStatus =
  | "scheduled" | "pending" | "claimed" | "completed" | "quarantined" | "cancelled" | "expired";

export interface Producer {
  kind: string;
  id: string;
  name: string | null;
  signed?: boolean;
}

export interface Event<Payload = any> {
  event_id: string;
  sequence_number: number | null;
  project: string;
  type: string;
  priority: number;
  correlation_id: string | null;
  causation_id: string | null;
  reply_to: string | null;
  ordering_key: string | null;
  ordering_sequence: number | null;
  producer: Producer | null;
  /** Null once the event is final. */
  payload: Payload;
  status: EventStatus;
  attempts: number;
  max_attempts: number;
  created_at: string;
  available_at: string | null;
  not_before: string | null;
  expires_at: string | null;
  corrects: string | null;
  redriven: boolean;
  traceparent: string | null;
}

/** An event under a lease. `claim_generation` fences every settle; `fence` is for the resource behind the key. */
export interface ClaimedEvent<Payload = any> extends Event<Payload> {
  claim_generation: number;
  fence: number | null;
  claim_expires_at: string;
  lease_remaining_ms: number;
}

export interface EventDetail extends Event {
  result: JsonObject | null;
  last_error: JsonObject | null;
  timeline: { at: string; kind: string; generation: number | null; consumer: string | null; reason: string | null }[];
}

export interface Page {
  events: Event[];
  next_cursor: number;
  has_more: boolean;
  claimable: number;
  epoch: string;
  next_poll_ms: number;
  etag: string | null;
}

/** `sent_at` is the client's monotonic clock in seconds when the request left. */
export interface Claim {
  events: ClaimedEvent[];
  claim_id: string;
  claimable: number;
  next_poll_ms: number;
  reason?: "paused" | "in_flight";
  spent?: boolean;
  sent_at: number;
}

export interface Stats {
  pending: number;
  claimable: number;
  scheduled: number;
  claimed: number;
  quarantined: number;
  oldest_pending_age_seconds: number | null;
  head: number;
  oldest_cursor: number;
  epoch: string;
  streams: number;
  last_seen_at: string | null;
}

export interface State {
  cursor: number;
  epoch: string;
  memory_revision: number;
  claimable: number;
  assignments: JsonObject[];
  memory: MemoryEntry[];
  next_page_token?: string | null;
}

export interface Failure {
  code: string;
  message: string;
  outcome?: "none" | "unknown" | "failed";
}

export interface Publication {
  recipients?: string[];
  project: string;
  type?: string;
  payload: JsonObject;
  priority?: number;
  correlation_id?: string;
  causation_id?: string;
  reply_to?: string;
  ordering_key?: string;
  available_at?: string;
  delay_seconds?: number;
  expires_at?: string;
  expires_in_seconds?: number;
  max_attempts?: number;
  backoff?: { base_seconds?: number; max_seconds?: number };
  corrects?: string;
  idempotency_key?: string;
  supersedes_key?: string;
  report?: ("quarantined" | "expired" | "cancelled")[];
}

export interface PublishedEvent {
  event_id: string;
  recipient_id: string;
  sequence_number: number | null;
  status: EventStatus;
  reachability?: { mode: "stream" | "poll" | "callback" | "away"; last_seen_at: string | null; pending: number };
  existing?: boolean;
}

/** `replayed`: the call was a repeat. */
export interface Published {
  events: PublishedEvent[];
  idempotency_key: string;
  replayed: boolean;
}

export interface Receipt {
  event_id: string;
  status: string;
  recipient_id: string;
  result: JsonObject | null;
}

export interface MemoryEntry {
  project: string;
  key: string;
  value: Json;
  version: number;
  memory_revision: number;
  updated_at: string;
  deleted?: boolean;
}

export interface MemoryChanges {
  entries: MemoryEntry[];
  memory_revision: number;
  has_more: boolean;
}

/** `value` null deletes the key. `if_version`: only if the key is at it; 0: only if it is not there. */
export interface MemoryWrite {
  project: string;
  key: string;
  value: Json;
  if_version?: number;
}

export interface Settlement {
  event_id: string;
  claim_generation: number;
}

export interface Orders {
  ack?: (Settlement & { result?: JsonObject })[];
  release?: (Settlement & { delay_seconds?: number; error?: Failure })[];
  reject?: (Settlement & { reason: string })[];
  renew?: (Settlement & { lease_seconds?: number; progress?: JsonObject })[];
}

export interface TurnParts extends Omit<Orders, "renew"> {
  memory?: MemoryWrite[];
  publish?: Publication[];
}

export type Frame =
  | { kind: "ready"; epoch: string; head: number; claimable: number; heartbeat_seconds: number }
  | { kind: "inbox_updated"; cursor_hint: number }
  | { kind: "heartbeat" }
  | { kind: "reconnect"; reason: "shutdown" | "token_expired" | "replaced" | "lifetime"; retry_after_ms: number }
  | { kind: "revoked" }
  | { kind: "unknown"; name: string };
