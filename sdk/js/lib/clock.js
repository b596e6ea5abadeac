/** Monotonic seconds and waiting, in one object that tests replace. */
export const systemClock = {
  now: () => performance.now() / 1000,
  wall: () => Date.now() / 1000,
  /** Resolves after so many seconds, or as soon as `signal` aborts; never rejects. */
  sleep(seconds, signal) {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        resolve();
      };
      // a timer of more than 2^31 ms would fire at once
      const timer = setTimeout(end, Math.min(seconds * 1000, 2 ** 31 - 1));
      signal?.addEventListener("abort", end, { once: true });
    });
  },
};

/** A number between `low` and `high`; `random` is as Math.random. */
export const uniform = (random, low, high) => low + random() * (high - low);
