"""What tests stand on: private database servers, served processes, waiting for a condition."""
