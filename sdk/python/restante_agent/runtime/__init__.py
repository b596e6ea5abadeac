"""The runner: doorbell, claim, renewal, handler, settle. Decisions are pure, drivers are thin."""
