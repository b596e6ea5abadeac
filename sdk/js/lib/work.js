/**
 * The order in which one claimed event is worked.
 *
 * recall → (known: ack without work) → handler → remember, if it succeeded → settle
 *
 * A turn is not remembered: an event that comes again has had none of it, so all of it is done anew.
 */
import { uniform } from "./clock.js";
import * as errors from "./errors.js";
import { Ack, Release, Turn, bareOf, refusedTurn, verbOfError, verbOfResult, verbOfStop } from "./outcome.js";
import { platform } from "./platform.js";

const PAUSE_CEILING_SECONDS = 5;

/**
 * How the delivery ended, a name of the summary: acked, known (acked without work: the record had it), released,
 * failed (released with an error), rejected, stale (the claim was over before the settle), stopped (given up when
 * told to, nothing left to settle), unsettled (no settle got through; the lease will end).
 */
export async function work(delivery, { client, state, handler, random, pause, log }) {
  const settling = new Settling(delivery, { client, random, pause });
  const known = await state.find(delivery.event.event_id);
  if (known !== null) return (await settling.settle(new Ack(known.result))) ?? "known";
  const verb = await handled(delivery, handler, log);
  if (verb === null) return "stopped";
  if (verb instanceof Ack) await state.add(delivery.event.event_id, verb.result);
  return (await settling.settle(verb)) ?? endOf(verb);
}

async function handled(delivery, handler, log) {
  if (delivery.stopReason !== null) return verbOfStop(delivery); // before it was begun
  try {
    return verbOfResult(delivery, await platform.handled.run(delivery.traceparent, () => handler(delivery)));
  } catch (error) {
    const verb = verbOfError(delivery, error);
    if (verb instanceof Release && verb.error) {
      log.warn(`handler event_id=${delivery.event.event_id} threw ${error?.stack ?? error}`);
    }
    return verb;
  }
}

class Settling {
  constructor(delivery, { client, random, pause }) {
    Object.assign(this, { delivery, client, random, pause });
  }

  /** Until it is done or refused, for as long as the lease is ours; null: done as it was said. */
  async settle(verb) {
    try {
      return await (verb instanceof Turn ? this.#take(verb) : this.#tell(verb));
    } catch (error) {
      if (error instanceof errors.StaleClaim || error instanceof errors.NotFound) return this.#stale();
      const bare = errors.isRefused(error) ? bareOf(verb) : null;
      if (bare !== null) return this.settle(bare); // without the words the event is still done, or still goes back
      if (error instanceof errors.RestanteError) return "unsettled";
      throw error;
    }
  }

  /** As `settle`; a turn that is refused for what it says is a failed attempt. */
  async #take(turn) {
    try {
      return await this.#tell(turn);
    } catch (error) {
      if (!(error instanceof errors.ApiError)) throw error;
      if (error instanceof errors.TurnConflict && error.isStale) return this.#stale();
      return (await this.settle(refusedTurn(error))) ?? "failed";
    }
  }

  /**
   * Tell the server until it has answered; its refusal is thrown. The work is too dear to be lost to a server that
   * is away, or to a grant, for a while.
   */
  async #tell(verb) {
    for (let failures = 0; ; failures += 1) {
      try {
        await this.#call(verb);
        return null;
      } catch (error) {
        const again = errors.isPassing(error) || errors.isAccess(error);
        if (!again && !(error instanceof errors.IdempotencyInFlight)) throw error;
        await this.pause(this.delivery, this.#wait(error, failures));
        if (this.delivery.mustStop) return "unsettled";
      }
    }
  }

  #wait(error, failures) {
    const named = error.retryAfterSeconds;
    if (named) return named * uniform(this.random, 1, 1.25);
    return uniform(this.random, 0.1, Math.min(PAUSE_CEILING_SECONDS, 2 ** failures));
  }

  #call(verb) {
    const { event, generation } = this.delivery;
    if (verb instanceof Turn) return this.#turn(verb);
    if (verb instanceof Ack) return this.client.ack(event.event_id, generation, verb);
    if (verb instanceof Release) return this.client.release(event.event_id, generation, verb);
    return this.client.reject(event.event_id, generation, verb);
  }

  #turn(turn) {
    const { event, generation } = this.delivery;
    const name = turn.end instanceof Ack ? "ack" : turn.end instanceof Release ? "release" : "reject";
    const said = Object.entries(turn.end).filter(([, value]) => value !== null);
    const parts = { [name]: [{ event_id: event.event_id, claim_generation: generation, ...Object.fromEntries(said) }] };
    if (turn.memory.length) parts.memory = turn.memory;
    if (turn.publish.length) parts.publish = turn.publish;
    return this.client.turn(parts, {
      projects: [event.project],
      // this claim's turn: tried again it is done once
      idempotencyKey: `turn-${event.event_id}-${generation}`,
    });
  }

  #stale() {
    this.delivery.stop("lease_lost");
    return "stale";
  }
}

function endOf(verb) {
  if (verb instanceof Turn) return endOf(verb.end);
  if (verb instanceof Ack) return "acked";
  if (verb instanceof Release) return verb.error ? "failed" : "released";
  return "rejected";
}
