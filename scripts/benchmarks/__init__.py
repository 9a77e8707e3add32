"""What scripts/bench measures.

The table of targets (against_loops, on_its_own), data from seeds (pictures, containers, facts), the loops that people write instead (peers), one
command under a clock (clock), and where a scan's time goes (stages).
"""
