/** Texts, bytes and their base64 forms. */
import { platform } from "./platform.js";

const encoder = new TextEncoder();

export const utf8 = (text) => encoder.encode(text);
export const base64 = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)));
export const base64url = (bytes) =>
  base64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

/** The bytes of strict base64; null for anything else. */
export function fromBase64(text) {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return null;
  return Uint8Array.from(atob(text), (mark) => mark.charCodeAt(0));
}

export const hex = (bytes) =>
  [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

export const randomBytes = (length) => platform.crypto.getRandomValues(new Uint8Array(length));

/** 128 random bits: a fresh Idempotency-Key or claim_id. */
export const newKey = () => hex(randomBytes(16));

export const sha256 = async (bytes) =>
  new Uint8Array(await platform.crypto.subtle.digest("SHA-256", bytes));
