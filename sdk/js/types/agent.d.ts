/** The runner. */
import type { Client } from "./client.js";
import type { CursorGone } from "./errors.js";
import type * as wire from "./wire.js";

export type StopReason = "lease_lost" | "lease_expired" | "cancel_requested" | "shutdown";

export class Stopped extends Error {
  readonly reason: StopReason;
}

export interface Delivery<Payload = any> {
  readonly event: wire.ClaimedEvent<Payload>;
  readonly generation: number;
  readonly fence: number | null;
  readonly signal: AbortSignal;
  readonly stopReason: StopReason | null;
  readonly stopped: boolean;
  readonly leaseRemainingMs: number;
  readonly traceparent: string | null;
  readonly links: string[];
  throwIfStopped(): void;
  report(progress: wire.JsonObject): void;
}

export class Ack {
  constructor(result?: wire.JsonObject | null);
}
export class Release {
  constructor(options?: { delay_seconds?: number | null; error?: wire.Failure | null });
}
export class Reject {
  constructor(reason: string);
}
export class Turn {
  constructor(parts?: {
    ack?: Ack | wire.JsonObject | null;
    release?: Release | null;
    reject?: Reject | null;
    publish?: wire.Publication[];
    memory?: { [key: string]: wire.Json } | wire.MemoryWrite[];
  });
}
export class AttemptFailed extends Error {
  constructor(code: string, message?: string, options?: { outcome?: wire.Failure["outcome"]; delay_seconds?: number });
}

export type HandlerResult = void | null | undefined | wire.JsonObject | Ack | Release | Reject | Turn;
export type Handler = (delivery: Delivery) => HandlerResult | Promise<HandlerResult>;

export interface Summary {
  claimed: number;
  acked: number;
  known: number;
  released: number;
  failed: number;
  rejected: number;
  stale: number;
  stopped: number;
  unsettled: number;
}

export interface AgentOptions {
  concurrency?: number;
  leaseSeconds?: number;
  projects?: string[];
  consumer?: string;
  drainSeconds?: number;
  stream?: boolean;
  recovery?(gone: CursorGone, state: wire.State | null): void | Promise<void>;
  log?: { info(text: string): void; warn(text: string): void; error(text: string): void };
}

export class Agent {
  constructor(client: Client, handler: Handler, options?: AgentOptions);
  run(options?: { untilEmpty?: boolean; giveUpSeconds?: number | null; handleSignals?: boolean }): Promise<Summary>;
  stop(): void;
}
