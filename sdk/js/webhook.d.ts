import type { JsonObject } from "./types/wire.js";

export class NotGenuine extends Error {}

export type Jwks = { keys: JsonWebKey[] };
export type Received = { kind: "delivery"; id: string; body: JsonObject } | { kind: "challenge"; answer: string };

export class Receiver {
  constructor(secrets: string[], options?: { jwks?: Jwks | (() => Jwks | Promise<Jwks>) | null; clock?: () => number });
  receive(method: string, url: string, headers: Headers | Record<string, unknown>, body: Uint8Array): Promise<Received>;
}
