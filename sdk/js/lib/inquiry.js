/** The part of a run that claims: leftovers first, then what is there, and 410 on the way. */
import { newKey } from "./bytes.js";
import { uniform } from "./clock.js";
import { Access } from "./board.js";
import * as errors from "./errors.js";
import { failed } from "./outcome.js";
import { convergedState } from "./state_sync.js";

const HEAD_AGE_SECONDS = 600;
/** After which a project that was refused is asked for again. */
const SHUT_SECONDS = 60;

/** Asks the server for work, without the client's own retries: `pacing` says when to ask again. */
export class Inquiry {
  #position;
  #gone = null;
  #goneInARow = 0;
  #claimId = null;
  #leftoversSettled = false;
  #headAskedAt;
  #access;
  #shut = new Map();

  constructor({ client, board, state, consumer, plan, position }) {
    Object.assign(this, { client, board, state, consumer, plan });
    this.#position = position;
    this.#headAskedAt = board.clock.now();
    this.#access = new Access("claiming", board.log);
  }

  /** Whether a claim was sent whose answer never came. */
  get uncertain() {
    return this.#claimId !== null;
  }

  /** Up to `limit` events; null when nothing came of it and `pacing` knows when to come again. */
  async claim(limit) {
    this.board.pacing.asking();
    try {
      if (!this.#leftoversSettled) await this.#settleLeftovers();
      if (this.#gone !== null) await this.#recover(this.#gone);
      await this.#lookAtHead();
      return await this.#ask(limit);
    } catch (error) {
      this.#failed(error);
      return null;
    }
  }

  #failed(error) {
    const { board } = this;
    const now = board.clock.now();
    if (error instanceof errors.CursorGone) {
      board.log.warn(`cursor-gone reason=${error.reason} lost=${error.lost?.count}`);
      [this.#gone, this.#position, this.#claimId] = [error, null, null];
      this.#goneInARow += 1;
      // gone right after a recovery: no use in hurrying
      if (this.#goneInARow === 1) board.pacing.ring();
      else this.#passing(error, now);
    } else if (errors.isPassing(error)) {
      board.log.warn(`claim-failed error=${error.message}`);
      this.#passing(error, now);
    } else if (board.waitsOut(error)) {
      this.#refused(error, now);
    } else {
      throw error;
    }
  }

  /** Ask again later; throw it where the run is not to wait so long, once nothing is held any more. */
  #passing(error, now) {
    const { board, plan } = this;
    board.pacing.failed(error, { now });
    const patience = plan.giveUpSeconds ?? null;
    if (patience === null || !board.pacing.givesUp(patience) || board.leases.size) return;
    board.log.error(`give-up seconds=${patience}`);
    throw error;
  }

  /** Go on at once with the projects that are left where one alone is shut. */
  #refused(error, now) {
    this.#access.refused(error);
    const [, project] = /^agent:([^:]+):/.exec(error.requiredScope ?? "") ?? [];
    const open = this.#projects(now);
    if (open.includes(project) && open.length > 1) {
      this.#shut.set(project, now + SHUT_SECONDS * uniform(this.board.random, 0.8, 1.2));
      this.board.pacing.ring();
    } else {
      this.board.pacing.failed(error, { now });
    }
  }

  /** Those that the run names and that were not refused in the last minute. */
  #projects(now) {
    for (const [project, until] of this.#shut) if (until <= now) this.#shut.delete(project);
    return (this.plan.projects ?? []).filter((project) => !this.#shut.has(project));
  }

  async #ask(limit) {
    const { board, plan, consumer } = this;
    this.#claimId ??= newKey();
    const [head, position] = [board.seenHead, this.#position];
    const open = this.#projects(board.clock.now());
    const claim = await this.client.claim({
      limit,
      lease_seconds: plan.leaseSeconds,
      consumer,
      claim_id: this.#claimId,
      projects: open.length ? open : plan.projects,
      after_cursor: position?.cursor,
      epoch: position?.epoch,
    });
    [this.#claimId, this.#goneInARow] = [null, 0];
    if (!this.#shut.size) this.#access.granted();
    board.known = board.admitted = true;
    board.pacing.answered(claim, { asked: limit, now: board.clock.now() });
    const nothing = !claim.events.length && !claim.claimable && !claim.reason && !claim.spent;
    if (nothing && head !== null && !plan.projects) {
      // all up to this head was settled or is under somebody's lease: read, and safe
      await this.state.move(head);
      this.#position = head;
    }
    return claim;
  }

  /**
   * What an earlier process of this name held when it was killed. It may have been begun, so the attempt counts: an
   * event that kills its worker must end in quarantine. What the record knows as finished is acked.
   */
  async #settleLeftovers() {
    const { events } = await this.client.claims({ consumer: this.consumer });
    for (const { event_id: eventId, claim_generation: generation } of events) {
      const known = await this.state.find(eventId);
      const message = `consumer ${this.consumer} ended while it held the event`;
      try {
        if (known !== null) await this.#ack(eventId, generation, known);
        else await this.client.release(eventId, generation, { error: failed("consumer_lost", message, "unknown") });
      } catch (error) {
        if (!(error instanceof errors.StaleClaim || error instanceof errors.NotFound)) throw error;
      }
    }
    this.#leftoversSettled = true;
  }

  /** The work is done: a result that the server refuses must not keep its event open. */
  async #ack(eventId, generation, known) {
    try {
      await this.client.ack(eventId, generation, known);
    } catch (error) {
      if (known.result === null || !errors.isRefused(error)) throw error;
      await this.client.ack(eventId, generation);
    }
  }

  /** Contract 9: fetch the state once, go on from there, never repeat the old cursor. */
  async #recover(gone) {
    let state = null;
    if (gone.stateUrl) {
      try {
        state = await convergedState(this.client, gone.stateUrl);
      } catch (error) {
        const kinds = [errors.NotFound, errors.InsufficientScope, errors.UnexpectedAnswer];
        if (!kinds.some((kind) => error instanceof kind)) throw error;
      }
    }
    await this.plan.recovery?.(gone, state);
    const { cursor, epoch } = state ?? { cursor: gone.head, epoch: gone.epoch };
    await this.state.reset({ cursor, epoch });
    [this.#position, this.#gone] = [{ cursor, epoch }, null];
  }

  /** Without a stream nobody says how far the inbox is; ask now and then. */
  async #lookAtHead() {
    const now = this.board.clock.now();
    if (this.board.pacing.streamUp || now - this.#headAskedAt < HEAD_AGE_SECONDS) return;
    this.#headAskedAt = now;
    try {
      const { head, epoch } = await this.client.stats();
      this.board.seenHead = { cursor: head, epoch };
    } catch (error) {
      if (!(error instanceof errors.InsufficientScope)) throw error; // it may claim and not read
    }
  }
}
