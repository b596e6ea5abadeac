/** The contract's calls. */
import type * as wire from "./wire.js";

export interface RetryPolicy {
  attempts: number;
  budgetSeconds: number;
  baseSeconds: number;
  capSeconds: number;
}
export const DEFAULT_RETRY: RetryPolicy;
export const NO_RETRY: RetryPolicy;

export interface SigningKey {
  keyId: string;
  sign(bytes: Uint8Array): Promise<Uint8Array>;
}
export type Algorithm = "ed25519" | "ecdsa-p256-sha256" | "rsa-pss-sha512" | "hmac-sha256";
export function signingKey(keyId: string, algorithm: Algorithm, key: CryptoKey): SigningKey;
export function importKey(algorithm: Algorithm, material: JsonWebKey | string, extractable?: boolean): Promise<CryptoKey>;
export function newPair(extractable: boolean): Promise<{ algorithm: Algorithm; privateKey: CryptoKey; publicJwk: JsonWebKey }>;

export interface Position {
  cursor: number;
  epoch: string;
}

/** Where record, position and signing key are kept. */
export interface AgentState {
  lasting: boolean;
  extractable: boolean;
  find(eventId: string): Promise<{ result: wire.JsonObject | null } | null>;
  add(eventId: string, result: wire.JsonObject | null): Promise<void>;
  position(): Promise<Position | null>;
  move(position: Position): Promise<void>;
  reset(position: Position): Promise<void>;
  key(): Promise<object | null>;
  keepKey(key: object | null): Promise<void>;
  makeKey<T>(work: () => Promise<T>): Promise<T>;
  consumer(wanted?: string): Promise<{ name: string; free(): void | Promise<void> }>;
  close(): Promise<void>;
}
export class MemoryState implements AgentState {
  constructor(options?: { limit?: number });
  lasting: boolean;
  extractable: boolean;
  find: AgentState["find"];
  add: AgentState["add"];
  position: AgentState["position"];
  move: AgentState["move"];
  reset: AgentState["reset"];
  key: AgentState["key"];
  keepKey: AgentState["keepKey"];
  makeKey: AgentState["makeKey"];
  consumer: AgentState["consumer"];
  close: AgentState["close"];
}

/** W3C Trace Context; a function is asked at each call. */
type Traceparent = string | (() => string | null | undefined) | null;

export interface CommonOptions {
  sign?: boolean | SigningKey | null;
  state?: "memory" | AgentState;
  stateDir?: string;
  retry?: RetryPolicy;
  readSeconds?: number;
  traceparent?: Traceparent;
  fetch?: typeof fetch;
}
export interface SecretOptions extends CommonOptions {
  url: string;
  clientId: string;
  clientSecret: string;
  scope?: string;
  agentId?: string;
}
/** For pages: tokens come from the page's own server. `fresh`: made in this minute. */
export interface TokenOptions extends CommonOptions {
  url: string;
  agentId: string;
  token(want: { scope: string | null; fresh: boolean }): Promise<{ access_token: string; expires_in?: number }>;
}

export interface DoorbellStream extends AsyncIterable<wire.Frame> {
  retryMs: number | null;
  silenceSeconds: number;
  abort(): void;
}

interface Reading {
  after_cursor?: number;
  limit?: number;
  projects?: string[];
  status?: "open";
  wait_seconds?: number;
  epoch?: string;
}
interface Writing {
  if_version?: number;
  agent_id?: string;
  notify?: boolean;
}
type Once = { idempotencyKey?: string };

export class Client {
  constructor(options: SecretOptions | TokenOptions);
  static fromEnvironment(options?: CommonOptions): Client;
  with(options: { retry?: RetryPolicy; readSeconds?: number; traceparent?: Traceparent }): Client;
  readonly agentId: string | null;
  readonly serverVersion: string | null;
  forgetTokens(): void;
  close(): Promise<void>;
  subscribe(options?: { after_cursor?: number; signal?: AbortSignal; silenceSeconds?: number }): Promise<DoorbellStream>;
  catchUp(view: MemoryView): Promise<void>;

  read(query?: Reading): Promise<wire.Page>;
  read(query: Reading & { if_none_match: string }): Promise<wire.Page | null>;
  claim(options?: Omit<Reading, "status"> & { lease_seconds?: number; consumer?: string; claim_id?: string }): Promise<wire.Claim>;
  claims(options?: { consumer?: string }): Promise<{ events: wire.ClaimedEvent[]; sent_at: number }>;
  releaseAll(options: { consumer: string }): Promise<{ released?: number }>;
  commit(options: { through_cursor: number; epoch?: string }): Promise<{ completed: number; has_more: boolean }>;
  event(eventId: string): Promise<wire.EventDetail>;
  stats(): Promise<wire.Stats>;
  state(options?: { url?: string; limit?: number; page_token?: string }): Promise<wire.State>;

  ack(eventId: string, claimGeneration: number, options?: { result?: wire.JsonObject }): Promise<{ event_id: string; status: "completed"; completed_at: string; cancel_requested?: boolean }>;
  release(eventId: string, claimGeneration: number, options?: { delay_seconds?: number; error?: wire.Failure }): Promise<{ status: wire.EventStatus; not_before: string | null }>;
  reject(eventId: string, claimGeneration: number, options: { reason: string }): Promise<{ status: wire.EventStatus }>;
  renew(eventId: string, claimGeneration: number, options?: { lease_seconds?: number; progress?: wire.JsonObject }): Promise<{ claim_expires_at: string; lease_remaining_ms: number; cancel_requested: boolean; deadline_passed: boolean; sent_at: number }>;
  settle(orders: wire.Orders): Promise<{ event_id: string; status?: wire.EventStatus; error: import("./errors.js").ApiError | null }[]>;
  turn(parts: wire.TurnParts, options?: Once & { projects?: string[] }): Promise<{ replayed: boolean } & { [part: string]: any }>;

  publish(publications: wire.Publication | wire.Publication[], options?: Once): Promise<wire.Published>;
  publishTo(agentId: string, publication: wire.Publication, options?: Once): Promise<wire.Published>;
  receipt(eventId: string): Promise<wire.Receipt>;
  receipts(query: { correlation_id?: string; recipient?: string; limit?: number; page_token?: string }): Promise<{ events: wire.Receipt[]; next_page_token?: string | null }>;
  cancel(eventId: string, options: { reason: string; project?: string }): Promise<{ status: "cancelled" | "cancel_requested" }>;

  memoryGet(project: string, key: string): Promise<wire.MemoryEntry>;
  memoryPut(project: string, key: string, value: wire.Json, options?: Writing): Promise<wire.MemoryEntry>;
  memoryPatch(project: string, key: string, merge: wire.JsonObject, options?: Writing): Promise<wire.MemoryEntry>;
  memoryDelete(project: string, key: string, options?: Writing): Promise<wire.MemoryEntry>;
  memoryList(query?: { after_revision?: number; limit?: number; projects?: string[] }): Promise<wire.MemoryChanges>;
}

export class MemoryView {
  readonly revision: number | null;
  get(project: string, key: string): wire.MemoryEntry | null;
  values(project: string): { [key: string]: wire.Json };
  entries(): wire.MemoryEntry[];
  take(entries: Iterable<wire.MemoryEntry>): void;
  goOn(changes: wire.MemoryChanges): void;
  replace(state: wire.State): void;
}

/** Pages by cursor, without claiming. */
export function pages(
  client: Client,
  options?: Omit<Reading, "after_cursor" | "epoch" | "wait_seconds"> & {
    position?: Position | null;
    keep?(position: Position): void | Promise<void>;
    follow?: boolean;
    recovery?(gone: import("./errors.js").CursorGone, state: wire.State | null): void | Promise<void>;
  },
): AsyncGenerator<wire.Page, void, void>;

/** An event for a prompt, fenced as data. */
export function renderUntrusted(event: wire.Event): string;
