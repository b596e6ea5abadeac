export * from "./types/agent.js";
export * from "./types/client.js";
export * from "./types/errors.js";
export type * from "./types/wire.js";
export const version: string;
