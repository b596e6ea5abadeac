/** The same with Node's own. */
import "./node.js";

export * from "./webhook.js";
