/** The record of finished events, positions and names: in memory and in files. */
import assert from "node:assert/strict";
import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { ConfigurationError, MemoryState } from "restante-agent";

import { inside } from "./fake.mjs";

const { openFiles, stateFolder } = await inside("state_file");
const { RECORD_LIMIT } = await inside("state_memory");

const base = await mkdtemp(join(tmpdir(), "restante-js-"));
after(() => rm(base, { recursive: true }));
let made = 0;
const place = (options = {}) => ({ origin: "https://a.example", agentId: "agt_1", stateDir: join(base, String(++made)), ...options });

test("ten thousand are remembered", () => assert.equal(RECORD_LIMIT, 10_000));

for (const [name, open] of Object.entries({ memory: async (one) => new MemoryState(one), files: openFiles })) {
  test(`${name}: the newest are remembered with their results, the oldest go`, async () => {
    const state = await open(place({ limit: 3 }));
    for (let n = 0; n < 8; n += 1) await state.add(`evt_${n}`, n % 2 ? { n } : null);
    await state.add("evt_7", { n: "another" });
    assert.equal(await state.find("evt_4"), null);
    assert.deepEqual(await state.find("evt_6"), { result: null });
    assert.deepEqual(await state.find("evt_7"), { result: { n: 7 } });
    await state.close();
  });

  test(`${name}: a position goes forward within an epoch, anywhere with a new one or after a 410`, async () => {
    const state = await open(place());
    assert.equal(await state.position(), null);
    await state.move({ cursor: 5, epoch: "a" });
    await state.move({ cursor: 3, epoch: "a" });
    assert.equal((await state.position()).cursor, 5);
    await state.move({ cursor: 1, epoch: "b" });
    assert.deepEqual(await state.position(), { cursor: 1, epoch: "b" });
    await state.reset({ cursor: 0, epoch: "b" });
    assert.equal((await state.position()).cursor, 0);
    await state.close();
  });
}

test("files outlive a process, and several share them", async () => {
  const here = place();
  const [one, other] = [await openFiles(here), await openFiles(here)];
  await one.add("evt_1", { n: 1 });
  assert.deepEqual(await other.find("evt_1"), { result: { n: 1 } });
  await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? one : other).add(`evt_s${n}`, null)));
  await one.close();
  await other.close();
  const again = await openFiles(here);
  for (let n = 0; n < 20; n += 1) assert.ok(await again.find(`evt_s${n}`), n);
  await again.close();
});

test("half a line of a process that was killed costs its event alone", async () => {
  const here = place();
  const state = await openFiles(here);
  await state.add("evt_1", null);
  const path = join(stateFolder(here.origin, here.agentId, here.stateDir), "record.jsonl");
  await appendFile(path, '{"event_id": "evt_2", "resu');
  await state.add("evt_3", null);
  assert.deepEqual([await state.find("evt_1"), await state.find("evt_2"), await state.find("evt_3")].map(Boolean), [true, false, true]);
  await state.close();
});

test("the file is written anew by a process that is alone, and is for its owner only", async () => {
  const here = place({ limit: 5 });
  const state = await openFiles(here);
  const folder = stateFolder(here.origin, here.agentId, here.stateDir);
  const path = join(folder, "record.jsonl");
  await writeFile(join(folder, "consumer-9.pid"), String(process.ppid));
  for (let n = 0; n < 13; n += 1) await state.add(`evt_${n}`, null);
  const lines = async () => (await readFile(path, "utf8")).split("\n").filter(Boolean).length;
  assert.equal(await lines(), 13, "another process may be appending");
  await rm(join(folder, "consumer-9.pid"));
  await state.add("evt_13", null);
  assert.equal(await lines(), 5);
  assert.deepEqual([await state.find("evt_9"), await state.find("evt_8")], [{ result: null }, null]);
  const other = await openFiles(here);
  await other.find("evt_13");
  for (let n = 14; n < 22; n += 1) await state.add(`evt_${n}`, null);
  assert.ok((await lines()) < 11, "written anew");
  assert.ok(await other.find("evt_21"), "who had the old file open reads the new one");
  await other.close();
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.equal((await stat(folder)).mode & 0o777, 0o700);
  await state.close();
});

test("a consumer's name is held by one, and comes back after a kill", async () => {
  const here = place();
  const state = await openFiles(here);
  const [first, second] = [await state.consumer(), await state.consumer()];
  assert.notEqual(first.name, second.name);
  await first.free();
  assert.equal((await state.consumer()).name, first.name);
  await state.consumer("mine");
  await assert.rejects(state.consumer("mine"), ConfigurationError);
  const folder = stateFolder(here.origin, here.agentId, here.stateDir);
  await writeFile(join(folder, "consumer-2.pid"), "999999999");
  assert.match((await state.consumer()).name, /-2$/);
  await state.close();
});

test("a folder that cannot be used is named, with what to do", async () => {
  const file = join(base, "file");
  await writeFile(file, "");
  await assert.rejects(openFiles(place({ stateDir: file })), (error) => error instanceof ConfigurationError && error.message.includes(file));
});
