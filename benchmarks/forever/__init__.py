"""Questions for all time: twenty small systems with known answers, and the algorithms of the AAMAS 2025 paper."""
