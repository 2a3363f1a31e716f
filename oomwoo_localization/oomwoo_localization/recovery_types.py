"""What goes into a step of the recovery, what comes out of it, and its settings."""

from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.settings import setting
from oomwoo_localization.vantage import VantageSettings

WATCHING, ASKING, CONFIRMING, CLEARING = 'WATCHING', 'ASKING', 'CONFIRMING', 'CLEARING'
MOVING, SETTLING, GIVEN_UP = 'MOVING', 'SETTLING', 'GIVEN_UP'


@dataclass(frozen=True)
class ManagerSettings(VantageSettings):
    """How patient, and what is allowed."""

    may_move: bool = setting(
        True, 'the robot may be driven to another view when the scan fits several places'
    )
    fallback: str = setting(
        'vantage',
        'what follows when one cannot tell: vantage drives to another view; wait leaves the '
        'driving to '
        'whoever listens to recovery_action (a dock hunt, a human) and asks again when it has '
        'been driven',
        choices=('vantage', 'wait'),
    )
    answer_s: float = setting(
        5.0, 'an answer of the relocalizer is awaited this long', 's', 0.2, 60.0
    )
    retry_wait_s: float = setting(
        1.0, 'pause before the same question is asked again; doubled each time', 's', 0.1, 60.0
    )
    unknown_after: int = setting(
        5, 'answers in a row that nothing fits, after which the room is unknown', '', 1, 20
    )
    most_asks: int = setting(40, 'questions in one recovery', '', 1, 100)
    most_moves: int = setting(30, 'drives to another view in one recovery', '', 0, 100)
    most_commits: int = setting(3, 'commits in one recovery that do not help', '', 1, 20)
    confirm_s: float = setting(
        2.0, 'health has to recover within this time after a commit', 's', 0.3, 30.0
    )
    clear_s: float = setting(3.0, 'whoever drives has to stand within this time', 's', 0.5, 30.0)
    settle_s: float = setting(0.4, 'pause after a drive before the next question', 's', 0.0, 10.0)
    agree_m: float = setting(
        0.3, 'candidates of two places that are this close agree', 'm', 0.05, 2.0
    )
    agree_deg: float = setting(12.0, 'the same of the heading', 'deg', 1.0, 90.0)
    least_move_m: float = setting(
        0.2, 'looking from less far away is not looking from another place', 'm', 0.02, 2.0
    )
    health_patience_s: float = setting(
        2.0, 'health that is silent for longer says nothing', 's', 0.3, 60.0
    )


@dataclass(frozen=True)
class Answer:
    """
    What the relocalizer said about one scan.

    ``pose`` (3,) in the map with ``covariance`` (3, 3) when ``accepted``; ``candidates`` (K poses)
    when ambiguous, all of them if ``complete``. ``odom`` (3,) where odometry had the robot at the
    scan's stamp, None when not known; ``stamp`` is passed through. ``map_number`` tells which map
    was asked about.
    """

    accepted: bool
    pose: object = None
    covariance: object = None
    candidates: tuple = ()
    complete: bool = True
    reason_code: str = ''
    message: str = ''
    odom: object = None
    stamp: object = None
    map_number: int = 0


@dataclass(frozen=True)
class Inputs:
    """
    What is known at one step; everything but the time may be missing.

    ``lost`` is health's flag, None while health is silent, ``health_s`` when it last spoke.
    ``pose`` and ``odom`` (3,) of the robot in map and odom; ``points`` (N, 2) of the latest scan
    in the robot's frame, None when stale. ``can_ask``: the relocalizer is there; ``answer``: it
    just spoke. ``others_stand``: whoever was asked to stop has; ``foreign``: somebody else is
    writing commands. ``told``: somebody else published ``initialpose``.
    """

    time_s: float
    lost: object = None
    health_s: float = -math.inf
    pose: object = None
    odom: object = None
    points: object = None
    bumped: bool = False
    can_ask: bool = True
    answer: object = None
    others_stand: bool = True
    foreign: bool = False
    told: bool = False
    map_number: int = 0


@dataclass(frozen=True)
class Seed:
    """A pose (3,) with covariance (3, 3) for the localizer, valid at ``stamp``; None: now."""

    pose: np.ndarray
    covariance: np.ndarray
    stamp: object = None


@dataclass(frozen=True)
class Orders:
    """
    What to do until the next step.

    ``ask`` once; ``seed`` to publish once. ``hold``: whoever trusts the pose has to stand.
    ``wheels``: everybody else who drives has to stand too. ``command`` (m/s, rad/s), None: publish
    nothing. ``actions`` are pairs of a word for ``recovery_action`` and a sentence.
    """

    state: str
    ask: bool = False
    seed: object = None
    hold: bool = False
    wheels: bool = False
    command: object = None
    actions: tuple = ()
