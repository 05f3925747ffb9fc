"""Click models from their definitions: one row, one hidden event, one list each."""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from math import comb, log

# --- position-based model -------------------------------------------------------------


def pbm_log_likelihood(rows, theta, gamma):
    """Rows are (unit, position, click)."""
    total = 0.0
    for unit, position, click in rows:
        p = theta[position] * gamma[unit]
        total += log(p) if click else log(1 - p)
    return total


def pbm_em_step(rows, theta, gamma):
    """Theta and gamma as means over all values of the hidden events of each row."""
    examined, attracted = defaultdict(list), defaultdict(list)
    for unit, position, click in rows:
        joint = {
            (e, a): (theta[position] if e else 1 - theta[position])
            * (gamma[unit] if a else 1 - gamma[unit])
            for e, a in product((0, 1), repeat=2)
            if e * a == click
        }
        total = sum(joint.values())
        examined[position].append(sum(p for (e, _), p in joint.items() if e) / total)
        attracted[unit].append(sum(p for (_, a), p in joint.items() if a) / total)
    means = [
        {key: sum(values) / len(values) for key, values in of.items()}
        for of in (examined, attracted)
    ]
    return means[0], means[1]


# --- preferences ----------------------------------------------------------------------


def preferences(sessions, strategy):
    """{(preferred, other): sessions}; sessions are lists of (pair, click) or None."""
    counts = defaultdict(int)
    for session in sessions:
        clicked = [i for i, row in enumerate(session) if row and row[1]]
        skipped = [i for i, row in enumerate(session) if row and not row[1]]
        found = {
            "skip_above": [(c, s) for c in clicked for s in skipped if s < c],
            "last_click_skip_above": [
                (c, s) for c in clicked[-1:] for s in skipped if s < c
            ],
            "earlier_click": [(c, d) for c in clicked for d in clicked if d < c],
            "skip_previous": [(c, s) for c in clicked for s in skipped if s == c - 1],
            "no_click_next": [(c, s) for c in clicked for s in skipped if s == c + 1],
        }[strategy]
        for winner, loser in found:
            counts[session[winner][0], session[loser][0]] += 1
    return dict(counts)


# --- intervention harvesting ----------------------------------------------------------


def all_pairs_cells(rows):
    """{(set of two positions, position): (weighted clicks, weighted showings)}."""
    shown, clicked = defaultdict(int), defaultdict(int)
    for unit, position, click in rows:
        shown[unit, position] += 1
        clicked[unit, position] += click
    units = {unit for unit, _, _ in rows}
    positions = {position for _, position, _ in rows}
    cells = defaultdict(lambda: (0.0, 0.0))
    for unit, k, other in product(units, positions, positions):
        if k != other and shown[unit, k] and shown[unit, other]:
            n, m = shown[unit, k], shown[unit, other]
            weight = n * m / (n + m)
            clicks, total = cells[frozenset((k, other)), k]
            clicks += weight * clicked[unit, k] / n
            cells[frozenset((k, other)), k] = clicks, total + weight
    return dict(cells)


def all_pairs_objective(cells, theta, r):
    """The sum that AllPairs maximises; r by set of positions."""
    return sum(
        clicks * log(theta[k] * r[pair])
        + (total - clicks) * log(1 - theta[k] * r[pair])
        for (pair, k), (clicks, total) in cells.items()
    )


# --- cascade and dynamic Bayesian network ---------------------------------------------


def dbn_paths(attraction, satisfaction, perseverance, clicks):
    """Yield (probability, examined, satisfied) of all hidden paths with these clicks.

    The parameters of one list, by position.
    """
    n = len(clicks)
    for examined, satisfied in product(
        product((0, 1), repeat=n), product((0, 1), repeat=n)
    ):
        p = 1.0 if examined[0] else 0.0
        for i in range(n):
            if examined[i]:
                p *= attraction[i] if clicks[i] else 1 - attraction[i]
            elif clicks[i]:
                p = 0.0
            if clicks[i]:
                p *= satisfaction[i] if satisfied[i] else 1 - satisfaction[i]
            elif satisfied[i]:
                p = 0.0
            if i + 1 < n:
                goes = perseverance if examined[i] and not satisfied[i] else 0.0
                p *= goes if examined[i + 1] else 1 - goes
        if p > 0:
            yield p, examined, satisfied


def dbn_log_likelihood(sessions, attraction, satisfaction, perseverance):
    """Sessions are lists of (pair, click)."""
    total = 0.0
    for session in sessions:
        pairs, clicks = zip(*session, strict=True)
        a, s = [attraction[p] for p in pairs], [satisfaction[p] for p in pairs]
        total += log(sum(p for p, _, _ in dbn_paths(a, s, perseverance, clicks)))
    return total


def dbn_em_step(sessions, attraction, satisfaction, perseverance):
    """One step of EM by expected counts over all hidden paths."""
    clicked, seen = defaultdict(float), defaultdict(float)
    satisfied_of, could_satisfy = defaultdict(float), defaultdict(float)
    went = could_go = 0.0
    for session in sessions:
        pairs, clicks = zip(*session, strict=True)
        a, s = [attraction[p] for p in pairs], [satisfaction[p] for p in pairs]
        paths = list(dbn_paths(a, s, perseverance, clicks))
        total = sum(p for p, _, _ in paths)
        for p, examined, satisfied in paths:
            for i, pair in enumerate(pairs):
                clicked[pair] += p / total * clicks[i]
                seen[pair] += p / total * examined[i]
                if i + 1 == len(pairs):
                    continue
                if clicks[i]:
                    could_satisfy[pair] += p / total
                    satisfied_of[pair] += p / total * satisfied[i]
                if examined[i] and not satisfied[i]:
                    could_go += p / total
                    went += p / total * examined[i + 1]
    return (
        {pair: clicked[pair] / seen[pair] for pair in seen},
        {pair: satisfied_of[pair] / could_satisfy[pair] for pair in could_satisfy},
        went / could_go,
    )


def cascade_log_likelihood(sessions, attraction):
    """Read each list from the top to the first click."""
    total = 0.0
    for session in sessions:
        for pair, click in session:
            total += log(attraction[pair] if click else 1 - attraction[pair])
            if click:
                break
    return total


# --- judging --------------------------------------------------------------------------


def counterfactual(sessions, propensities, weight, clip=None):
    """(IPS, self-normalised); sessions are lists of (position, click, score).

    Scores of a list differ; `weight` is that of a rank.
    """
    total = weights = 0.0
    for session in sessions:
        for position, click, score in session:
            rank = 1 + sum(other > score for _, _, other in session)
            inverse = 1 / propensities[position]
            if clip is not None:
                inverse = min(inverse, clip)
            total += click * inverse * weight(rank)
            weights += click * inverse
    return total / len(sessions), total / weights


def sign_test(wins, losses):
    """Two-sided p-value of a fair coin, by summing all outcomes as unlikely."""
    n = wins + losses
    of_wins = comb(n, wins)
    return sum(c for k in range(n + 1) if (c := comb(n, k)) <= of_wins) / 2**n
