"""The run folder: plan, facts, findings, quarantine, summary. Nothing outside this room knows a file name in it."""
