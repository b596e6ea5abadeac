"""Webhooks (contract 5.10): registration by challenge, approval, signed delivery."""
