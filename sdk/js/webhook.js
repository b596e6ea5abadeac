/** The receiving side of webhooks, for Node and for workers at an edge. */
export { NotGenuine, Receiver } from "./lib/receiver.js";
