/** An inbox that keeps the contract's fences in memory behind a `fetch`, and a clock that only waiting moves. */
import { Client, MemoryState } from "restante-agent";

export const AGENT = "agt_0190000000007000800000000000000a";
const BASE = "http://localhost:8000";
const A = `/api/v1/agents/${AGENT}`;

export const problem = (status, slug, members = {}, headers = {}) => ({
  status,
  headers: { "content-type": "application/problem+json", ...headers },
  body: { type: `/problems/${slug}`, title: slug, status, ...members },
});

/** Thrown by a hook: the connection breaks without an answer. */
export const broken = () => {
  throw new TypeError("fetch failed");
};

/** Time passes when nothing else can happen: to the next instant that somebody waits for. */
export class HandClock {
  seconds = 1000;
  slept = [];
  #timers = new Set();

  now = () => this.seconds;
  wall = () => 1_800_000_000 + this.seconds;

  sleep(seconds, signal) {
    if (signal === undefined) this.slept.push(seconds);
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const end = () => {
        signal?.removeEventListener("abort", end);
        if (this.#timers.delete(timer)) resolve();
      };
      const timer = { at: this.seconds + seconds, end };
      this.#timers.add(timer);
      signal?.addEventListener("abort", timer.end, { once: true });
      setImmediate(() => this.#pass());
    });
  }

  #pass() {
    const next = [...this.#timers].sort((a, b) => a.at - b.at)[0];
    if (!next || next.at === Infinity) return;
    this.seconds = Math.max(this.seconds, next.at);
    next.end();
    setImmediate(() => this.#pass());
  }
}

export class FakeInbox {
  rows = new Map();
  requests = [];
  claims = new Map();
  tokens = 0;
  head = 0;
  oldest = 0;
  epoch = "ep_1";
  nextPollMs = 1000;
  /** May answer instead; may change the answer. */
  before = () => null;
  after = (_request, reply) => reply;

  constructor(clock) {
    this.clock = clock;
  }

  publish(members = {}) {
    this.head += 1;
    const event_id = `evt_${String(this.head).padStart(32, "0")}`;
    const event = { event_id, sequence_number: this.head, project: "demo", type: "note", payload: { n: this.head } };
    const counts = { attempts: 0, max_attempts: 5, ordering_key: null };
    this.rows.set(event_id, { event: { ...event, ...counts, ...members }, status: "pending", generation: 0, due: 0, effects: [] });
    return event_id;
  }

  row(eventId) {
    return this.rows.get(eventId);
  }

  count(ending) {
    return this.requests.filter(({ path }) => path.endsWith(ending)).length;
  }

  fetch = async (url, { method, headers, body, signal }) => {
    const { pathname: path, searchParams: query } = new URL(url);
    const form = path === "/oauth/token";
    const request = { method, path, query, headers, body: form ? body : body && JSON.parse(body), at: this.clock.now(), signal };
    this.requests.push(request);
    const reply = this.after(request, this.before(request) ?? this.#answer(request));
    if (reply instanceof Response) return reply;
    const { status, headers: fields = {}, body: said } = reply;
    const text = said === null || typeof said === "string" ? said : JSON.stringify(said);
    return new Response(status === 304 ? null : text, { status, headers: { "content-type": "application/json", ...fields } });
  };

  #answer({ method, path, query, headers, body }) {
    if (path === "/oauth/token") {
      this.tokens += 1;
      return ok({ access_token: `token-${this.tokens}`, token_type: "Bearer", expires_in: 600 });
    }
    if (!headers.authorization?.startsWith("Bearer token-")) return problem(401, "unauthenticated");
    const rest = path.slice(A.length);
    if (rest === "/subscribe") return problem(403, "insufficient-scope", { required_scope: "agent:demo:read" });
    if (rest === "/inbox/claim") return this.#claim(body);
    if (rest === "/inbox/claims") return ok({ events: this.#live(query.get("consumer")) });
    if (rest === "/inbox/release") return this.#releaseAll(body);
    if (rest === "/inbox/settle") return ok({ results: body.renew.map((line) => this.#result(line)) });
    if (rest === "/inbox/stats") return ok({ head: this.head, epoch: this.epoch });
    const [, eventId, verb] = /^\/inbox\/(evt_\w+)\/(\w+)$/.exec(rest) ?? [];
    if (eventId) return this.#settle(eventId, verb, body);
    if (method === "POST" && path === "/api/v1/events") return { status: 201, body: { events: [{ event_id: this.publish() }] } };
    return problem(404, "not-found");
  }

  gone() {
    const lost = { from: 1, to: this.oldest, count: this.oldest, unsettled: 1 };
    const told = { reason: "retention", oldest_cursor: this.oldest, head: this.head, epoch: this.epoch, lost };
    return problem(410, "cursor-gone", { ...told, state_url: `${A}/state` });
  }

  #claim(body) {
    if (body.epoch && (body.epoch !== this.epoch || body.after_cursor < this.oldest)) return this.gone();
    const answer = { claim_id: body.claim_id, next_poll_ms: this.nextPollMs };
    if (this.claims.has(body.claim_id)) {
      const live = this.#live(body.consumer).filter(({ event_id }) => this.claims.get(body.claim_id).includes(event_id));
      return ok({ ...answer, claimable: 0, events: live, ...(!live.length && { spent: true }) });
    }
    const taken = this.#claimable().slice(0, body.limit);
    for (const row of taken) {
      row.generation += 1;
      row.event.attempts += 1;
      Object.assign(row, { status: "claimed", consumer: body.consumer, deadline: this.clock.now() + body.lease_seconds });
    }
    if (taken.length) this.claims.set(body.claim_id, taken.map(({ event }) => event.event_id));
    return ok({ ...answer, claimable: this.#claimable().length, events: taken.map((row) => this.#shown(row)) });
  }

  #claimable() {
    this.#runTimers();
    return [...this.rows.values()].filter(({ status, due }) => status === "pending" && due <= this.clock.now());
  }

  #runTimers() {
    for (const row of this.rows.values()) {
      if (row.status === "claimed" && row.deadline <= this.clock.now()) Object.assign(row, { status: "pending", endedAs: "lease_expired" });
    }
  }

  #live(consumer) {
    this.#runTimers();
    const held = [...this.rows.values()].filter((row) => row.status === "claimed" && row.consumer === consumer);
    return held.map((row) => this.#shown(row));
  }

  #releaseAll({ consumer }) {
    const held = [...this.rows.values()].filter((row) => row.status === "claimed" && row.consumer === consumer);
    for (const row of held) Object.assign(row, { status: "pending", endedAs: "released" });
    return ok({ released: held.length });
  }

  #result(line) {
    const { status, body } = this.#settle(line.event_id, "renew", line);
    return status === 200 ? { event_id: line.event_id, status: "claimed", ...body } : { event_id: line.event_id, problem: body };
  }

  #settle(eventId, verb, body) {
    const row = this.rows.get(eventId);
    this.#runTimers();
    const mine = body.claim_generation === row.generation;
    if (row.status === "completed" && verb === "ack" && mine) return ok({ event_id: eventId, status: "completed" });
    if (row.status !== "claimed" || !mine) {
      const reason = { pending: row.endedAs, claimed: "reclaimed" }[row.status] ?? row.status;
      return problem(409, "stale-claim", { reason, current_generation: row.generation });
    }
    row.effects.push(verb);
    if (verb === "renew") {
      row.deadline = this.clock.now() + body.lease_seconds;
      row.progress = body.progress ?? row.progress;
      return ok({ lease_remaining_ms: body.lease_seconds * 1000, cancel_requested: Boolean(row.cancel) });
    }
    const status = { ack: "completed", reject: "quarantined", release: "pending" }[verb];
    Object.assign(row, { status, result: body.result, error: body.error, reason: body.reason, endedAs: "released" });
    row.due = this.clock.now() + (body.delay_seconds ?? 0);
    return ok({ event_id: eventId, status });
  }

  #shown({ event, status, generation, deadline }) {
    const left = Math.max(0, Math.round((deadline - this.clock.now()) * 1000));
    return { ...event, status, claim_generation: generation, lease_remaining_ms: left, fence: null, unheard_of: true };
  }
}

export const ok = (body) => ({ status: 200, body });

/** A stage with everything on it: {clock, inbox, client, state}. */
export function stage(options = {}) {
  const clock = new HandClock();
  const inbox = new FakeInbox(clock);
  const state = options.state ?? new MemoryState();
  const client = new Client({
    url: BASE,
    clientId: AGENT,
    clientSecret: "s3cret-of-tests",
    fetch: inbox.fetch,
    clock,
    random: () => 0.5,
    ...options,
    state,
  });
  return { clock, inbox, client, state };
}

/** A module of the package that it does not offer: the rules of the runner. */
export const inside = (name) => import(new URL(`lib/${name}.js`, process.env.PACKAGE_URL));

/** A log that keeps its warnings. */
export function quiet() {
  const said = [];
  return { said, info() {}, warn: (text) => said.push(text), error: (text) => said.push(text) };
}
