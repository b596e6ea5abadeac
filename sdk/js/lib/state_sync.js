/** The state, all of its pages, and what has changed since (contract 5.8, 5.9). */
import { NotFound, RevisionGone } from "./errors.js";
import { MemoryView } from "./memory_view.js";

const PAGE = 1_000;
/** How often a state is fetched whose revision is gone again before its changes were read. */
const TRIES = 3;

/** The state with the memory of all its pages: what page 1 fixed, each key's higher version. */
export async function wholeState(client, url) {
  const first = await client.state({ url });
  const view = new MemoryView();
  for (let page = first; ; ) {
    view.take(page.memory ?? []);
    if (!page.next_page_token) break;
    page = await client.state({ page_token: page.next_page_token });
  }
  return { ...first, memory: view.entries(), next_page_token: null };
}

/** The whole state, and what was written while it was read: its memory is that of one moment. */
export async function convergedState(client, url) {
  const state = await wholeState(client, url);
  if (state.memory_revision === undefined || state.memory_revision === null) return state;
  const view = new MemoryView();
  view.replace(state);
  try {
    await catchUp(client, view);
  } catch (error) {
    if (error instanceof NotFound) return state; // a server that has state and no memory
    throw error;
  }
  return { ...state, memory: view.entries(), memory_revision: view.revision };
}

/** Bring a view up to date. */
export async function catchUp(client, view) {
  if (view.revision === null) view.replace(await wholeState(client));
  for (let attempt = 1; ; attempt += 1) {
    try {
      for (let more = true; more; ) {
        const changes = await client.memoryList({ after_revision: view.revision, limit: PAGE });
        view.goOn(changes);
        more = changes.has_more;
      }
      return;
    } catch (error) {
      if (!(error instanceof RevisionGone) || attempt === TRIES) throw error;
      view.replace(await wholeState(client));
    }
  }
}
