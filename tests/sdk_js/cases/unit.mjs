/** All cases that need no server, in one process. */
import "./agent.test.mjs";
import "./client.test.mjs";
import "./doorbell.test.mjs";
import "./outage.test.mjs";
import "./pacing.test.mjs";
import "./signing.test.mjs";
import "./state.test.mjs";
import "./trace.test.mjs";
import "./untrusted.test.mjs";
import "./webhook.test.mjs";
