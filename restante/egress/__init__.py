"""The one outbound client (contract section 7). Never called with a transaction open."""
