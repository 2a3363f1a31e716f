"""What the recovery says, in one sentence each: for the log, the status and a human."""

import math

from oomwoo_localization.frames import wrap_angle

NOT_LOST = 'not lost'
LOST = 'what the scanner sees is not what the map has at this pose: asks where the robot is'
NOTHING_TO_RETRY = 'not lost, so there is nothing to retry'
ASKS_AGAIN = 'asks again'
NEW_MAP = 'another map came: begins anew'
ODOMETRY_JUMPED = 'odometry jumped, so that nothing can be carried along: begins anew'
FOUND = 'the scan fits the map again without a commit'
NO_RELOCALIZER = 'there is no relocalizer to ask; waits for it'
CONFLICT = (
    'the answer lies at none of the places that were possible before; a second one has to agree')
CONFIRMED = 'the scan fits the map at the committed pose'
IGNORED = 'the localizer does not take the pose from initialpose'
NOT_CONFIRMED = 'the scan does not fit the map at the committed pose: takes it back'
HEALTH_SILENT = 'health is silent, so that the committed pose cannot be confirmed: takes it back'
MAY_NOT_MOVE = (
    'cannot tell from here, and does not drive by itself: asks again when it has been driven '
    'somewhere else')
NO_WAY = 'cannot tell from here, and no way is open to somewhere else'
INTERRUPTED = 'somebody else began to drive: stops'
SOMEBODY_DRIVES = 'somebody else drives'
NO_ODOMETRY = 'odometry is missing'
NO_SCAN = 'there is no scan'
DRIVEN_ELSEWHERE = 'has been driven somewhere else: asks again'

_ENDS_OF_DRIVES = {
    'arrived': 'stands where it wanted to',
    'blocked': 'stopped before something in the way',
    'bumped': 'touched something, and went back a little',
    'late': 'the drive took too long',
    'blind': 'no scan or odometry to drive by',
}


def already(state):
    """Refuse a retry while something is under way."""
    return f'already at it ({state.lower()})'


def no_answer(after_s):
    """Say that the relocalizer is silent."""
    return f'no answer of the relocalizer within {after_s:.0f} s'


def asked_enough(asks):
    """Say that asking more is no use."""
    return f'{asks} questions brought no answer to act on'


def unknown_room(message):
    """Say that the map does not have what is seen."""
    return (
        f'nothing on the map fits what is seen ({message}): this room is unknown, or too much of '
        'it has changed')


def stands_out(before):
    """Say why a pose that was accepted is committed, ``before`` places having been possible."""
    return 'one pose stands out, and agrees with before' if before else 'one pose stands out'


def survivor(before, now):
    """Say why a place is committed that is the only one to fit from two spots."""
    return f'of {before} places possible before and {now} now, one is both'


def commit(why, pose):
    """Say which pose is committed."""
    x, y, yaw = pose
    return f'{why}: commits x {x:.2f} m, y {y:.2f} m, heading {math.degrees(yaw):.0f} deg'


def commits_in_vain(commits, sentence):
    """Say that committing more is no use."""
    return f'{commits} commits did not help: {sentence}'


def several(places, message):
    """Say that more than one place fits."""
    return f'{places} places fit: {message}'


def does_not_guess(why):
    """Say that one cannot tell from here."""
    return f'does not guess: {why}'


def moved_enough(moves):
    """Say that driving more is no use."""
    return f'still cannot tell after {moves} drives'


def cannot_drive(what):
    """Say what keeps it from driving."""
    return f'cannot drive to another view: {what}'


def cannot_tell(what):
    """Say that it gives up since it cannot drive."""
    return f'cannot tell from here, and {what}'


def drives(way, heading):
    """Say where a :class:`Way` leads, the robot at ``heading`` rad in odom."""
    turn = math.degrees(wrap_angle(way.heading - heading))
    said = f'turns by {turn:.0f} deg and drives {way.length_m:.2f} m'
    if math.isnan(way.gain):
        return said
    return (
        f'{said} towards a spot {way.target_m:.1f} m away from which {way.gain:.0%} of the view '
        'tells')


def looks(reason):
    """Say how a drive ended."""
    return f'{_ENDS_OF_DRIVES[reason]}: looks from here'
