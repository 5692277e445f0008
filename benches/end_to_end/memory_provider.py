"""A provider of octoDNS for the benchmark: a zone in memory, so that nothing of it is read, sent or stored.

With `filled` it holds the records of the zone file already, made without a parser; without, it is empty, and a sync
creates every record.
"""

import logging

from octodns.provider.base import BaseProvider
from octodns.record import Record


class MemoryProvider(BaseProvider):
    SUPPORTS_GEO = False
    SUPPORTS_DYNAMIC = False
    SUPPORTS = {"A"}

    def __init__(self, id, count, filled, **kwargs):
        self.log = logging.getLogger(f"MemoryProvider[{id}]")
        super().__init__(id, **kwargs)
        self.count = int(count)
        self.filled = bool(filled)

    def populate(self, zone, target=False, lenient=False):
        if not self.filled:
            return False
        for at in range(self.count):
            data = {"type": "A", "ttl": 300, "values": [f"10.{at % 200}.0.1", f"192.0.2.{at % 250 + 1}"]}
            record = Record.new(zone, f"host-{at:06}", data, source=self, lenient=lenient)
            zone.add_record(record, lenient=lenient)
        return True

    def _apply(self, plan):
        self.applied = len(plan.changes)
