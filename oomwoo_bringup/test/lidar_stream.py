"""
Byte streams as an LDROBOT LD14P sends them, generated from the published protocol.

A packet has 47 bytes: 0x54 0x2c, the turning speed (u16, deg/s), the first angle (u16, 0.01 deg),
twelve points of a distance (u16, mm) and an intensity (u8), the last angle (u16), a time (u16),
and a CRC-8 of all before (polynomial 0x4d). All numbers are little-endian; angles grow clockwise.
"""
import math
import os
import pty
import struct
import threading
import time
import tty

POINTS = 12
POLYNOMIAL = 0x4D
TURN_HZ = 6.0
PER_TURN = 50                  # packets


def crc8(data):
    """Return the CRC bit by bit."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc << 1 ^ POLYNOMIAL if crc & 0x80 else crc << 1) & 0xFF
    return crc


def packet(first_deg, last_deg, ranges_mm, intensity=200):
    """Return one packet of twelve ranges between two angles."""
    body = struct.pack('<BBHH', 0x54, 0x2C, round(TURN_HZ * 360), round(first_deg * 100) % 36000)
    for value in ranges_mm:
        body += struct.pack('<HB', value, intensity)
    body += struct.pack('<HH', round(last_deg * 100) % 36000, 0)
    return body + bytes([crc8(body)])


def room_range_m(angle_rad, ahead=2.0, behind=1.0, left=1.5, right=0.8):
    """Return the distance to the wall of a rectangular room, counterclockwise angle from ahead."""
    c, s = math.cos(angle_rad), math.sin(angle_rad)
    walls = [(ahead if c > 0 else behind) / max(abs(c), 1e-9),
             (left if s > 0 else right) / max(abs(s), 1e-9)]
    return min(walls)


def turn(range_m=room_range_m):
    """Return the packets of one turn; ``range_m`` takes a counterclockwise angle."""
    step = 360.0 / (PER_TURN * POINTS)
    packets = []
    for number in range(PER_TURN):
        angles = [(number * POINTS + i) * step for i in range(POINTS)]
        ranges = [round(1000.0 * range_m(-math.radians(a))) for a in angles]
        packets.append(packet(angles[0], angles[-1], ranges))
    return packets


class FakeLidar:
    """A pseudo terminal that gives out ``data`` again and again, at the pace of a LiDAR."""

    def __init__(self, packets=()):
        """Open the terminal; ``port`` is the device to read from."""
        self.packets = list(packets)
        self._master, slave = pty.openpty()
        tty.setraw(self._master)
        tty.setraw(slave)
        os.set_blocking(self._master, False)
        self.port = os.ttyname(slave)
        self._slave = slave
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._ended.is_set():
            for data in list(self.packets):
                try:
                    os.write(self._master, data)
                except BlockingIOError:
                    pass                 # nobody reads
                time.sleep(1.0 / (TURN_HZ * PER_TURN))
                if self._ended.is_set():
                    return
            if not self.packets:
                time.sleep(0.01)

    def commands(self):
        """Return what was sent to the LiDAR since the last call."""
        try:
            return os.read(self._master, 4096)
        except OSError:
            return b''

    def unplug(self):
        """Take the terminal away from whoever reads it."""
        if not self._ended.is_set():
            self._ended.set()
            self._thread.join()
            os.close(self._slave)
            os.close(self._master)

    def __enter__(self):
        """Return the open terminal."""
        return self

    def __exit__(self, *_):
        """Close it."""
        self.unplug()
