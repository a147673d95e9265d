"""What groups are conditioned on: near rows that come earlier, blocks of a chain."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans

from sklearn_sgp.data.clusters import short_path
from sklearn_sgp.data.inputs import Inputs
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.partitions import chains, near_cells, search
from sklearn_sgp.partitions.chains import Chain, ChainChoice
from sklearn_sgp.partitions.near_cells import NearGroups
from sklearn_sgp.partitions.neighbours import NeighboursChoice
from sklearn_sgp.partitions.partition import ClustererPartition, KMeansTree, PartitionChoice
from sklearn_sgp.partitions.search import nearest_in_table, nearest_rows


def leaves(points, rng, size=10):
    """Groups of near rows, in random order."""
    labels = KMeansTree(size, np.ones(points.shape[1])).fit(points, seed())
    groups = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])
    return [groups[g] for g in rng.permutation(len(groups))]


def nearest_earlier(points, groups, count):
    """By a search among all earlier rows, for each group."""
    earlier = np.empty(0, dtype=int)
    for group in groups:
        away = ((points[earlier] - points[group].mean(axis=0)) ** 2).sum(axis=1)
        yield earlier, np.sort(earlier[np.argsort(away)[:count]])
        earlier = np.concatenate([earlier, group])


@pytest.mark.parametrize("count", [0, 1, 7, 1000])
@pytest.mark.parametrize("n_columns", [1, 2, 20])
def test_earlier_rows_are_near_and_come_before(rng, n_columns, count):
    """Every group has as many as there are, little further away than the very nearest ones."""
    points = rng.standard_normal((1200, n_columns))
    groups, ways, least = leaves(points, rng), 0.0, 0.0
    found = NearGroups(points, groups, seed()).earlier(count)
    every = nearest_earlier(points, groups, count)
    for group, (earlier, expected), before in zip(groups, every, found, strict=True):
        assert len(before) == len(expected) and np.isin(before, earlier).all()
        assert (np.diff(before) > 0).all()
        middle = points[group].mean(axis=0)
        ways += np.linalg.norm(points[before] - middle, axis=1).sum()
        least += np.linalg.norm(points[expected] - middle, axis=1).sum()
    assert ways <= 1.1 * least


@pytest.mark.parametrize("sizes", [[1] * 5 + [200] + [1] * 60, [40, 3, 90, 1], [5]])
def test_groups_of_any_size_find_enough_earlier_rows(rng, sizes):
    """Few rows in the nearest groups make the search go on."""
    points = rng.standard_normal((sum(sizes), 2))
    groups = np.split(rng.permutation(sum(sizes)), np.cumsum(sizes)[:-1])
    found = NearGroups(points, groups, seed()).earlier(50)
    for (_, expected), before in zip(nearest_earlier(points, groups, 50), found, strict=True):
        assert len(before) == len(expected)


def test_rows_around_those_of_a_wide_group_are_near_each(rng):
    """Each row of a group has near ones of its own among all, and the number is made up."""
    points = rng.uniform(-9.0, 9.0, (900, 1))
    groups = [*leaves(points[:880], rng), np.arange(880, 890), np.arange(890, 900)]
    found = NearGroups(points, groups, seed()).around_rows(80, len(groups) - 2)
    for own, near in zip(groups[-2:], found, strict=True):
        assert len(near) == 80
        away, least = (
            np.sort(np.abs(points[own] - some.T), axis=1)[:, :8]
            for some in (points[near], points[:880])
        )
        assert away.mean() < 1.2 * least.mean()


@pytest.mark.parametrize("sizes", [[20] * 40, [1] * 5 + [200] + [1] * 60])
def test_a_search_by_tree_finds_the_same(rng, monkeypatch, sizes):
    """Many groups are searched by a tree, few by all distances, with one outcome."""
    points = rng.standard_normal((sum(sizes), 3))
    groups = np.split(rng.permutation(sum(sizes)), np.cumsum(sizes)[:-1])
    near = NearGroups(points, groups, seed())
    expected = [*near.earlier(12), *near.around(points[:9], 40)]
    monkeypatch.setattr(near_cells, "_FEW_GROUPS", 0)
    found = [*near.earlier(12), *near.around(points[:9], 40)]
    for some, other in zip(found, expected, strict=True):
        assert_array_equal(some, other)


def test_rows_around_a_place(rng):
    """Where the nearest groups hold all rows, the rows around a place are the very nearest."""
    points, places = rng.standard_normal((50, 3)), rng.standard_normal((4, 3))
    found = NearGroups(points, np.array_split(np.arange(50), 10), seed()).around(places, 7)
    away = ((points[None] - places[:, None]) ** 2).sum(axis=2)
    assert_array_equal(found, np.sort(np.argsort(away, axis=1)[:, :7], axis=1))


def test_nearest_rows(rng):
    """The rows nearest to a place, nearest first."""
    points, places = rng.standard_normal((50, 3)), rng.standard_normal((4, 3))
    away = ((points[None] - places[:, None]) ** 2).sum(axis=2)
    assert_array_equal(nearest_rows(points, places, 6), np.argsort(away, axis=1)[:, :6])
    assert_array_equal(nearest_rows(points, places, 50), np.argsort(away, axis=1))


@pytest.mark.parametrize(("n_columns", "n_places"), [(2, 9), (3, 600), (9, 9)])
@pytest.mark.parametrize("count", [1, 30])
def test_nearest_of_many_rows(rng, monkeypatch, n_columns, n_places, count):
    """The same rows are the nearest, whether a tree finds them or a search among all."""
    points, places = (rng.standard_normal((n, n_columns)) for n in (2000, n_places))
    expected = nearest_rows(points, places, count)
    monkeypatch.setattr(search, "_MANY_ROWS", 1000)
    assert_array_equal(nearest_rows(points, places, count), expected)
    monkeypatch.setattr(search, "_MOST_DISTANCES", 0)
    assert_array_equal(nearest_rows(points, places, count), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pieces_of_a_table_have_the_nearest_of_all(rng, monkeypatch, dtype):
    """However small the pieces, also where the last one has fewer rows than are wanted."""
    X, scale, some = (
        rng.standard_normal((407, 3)).astype(dtype),
        np.array([1.0, 0.2, 3.0]),
        [3, 406],
    )
    points = X.astype(np.float64) / scale
    away = ((points[None] - points[some][:, None]) ** 2).sum(axis=2)
    for values in (3, 300, 3 * 406):
        monkeypatch.setattr(search, "_VALUES_AT_ONCE", values)
        found = nearest_in_table(X, scale, np.array(some), 20, seed())
        assert_array_equal(found, np.argsort(away, axis=1)[:, :20])


def test_pieces_of_a_table_that_repeats_itself(rng, monkeypatch):
    """Of rows that are equally near each is found once, and none further away."""
    places = rng.standard_normal((7, 2))
    X, some = places[rng.integers(7, size=900)], np.arange(4)
    for values in (1 << 24, 200):
        monkeypatch.setattr(search, "_VALUES_AT_ONCE", values)
        for row, near in zip(
            X[some], nearest_in_table(X, np.ones(2), some, 60, seed()), strict=True
        ):
            assert len(np.unique(near)) == 60
            assert (X[near] == row).all()


@pytest.mark.parametrize("count", [10, 60, 200])
def test_which_of_equal_rows_are_near_is_drawn(rng, monkeypatch, count):
    """In no order of theirs, whoever looks for them: here they are sorted within each place."""
    places = rng.standard_normal((4, 2))
    X = np.repeat(places, 150, axis=0)
    groups = np.split(np.arange(600), 15)

    def is_drawn(near):
        mean, deviation = near.mean() % 150, np.sqrt(150**2 / 12 / len(near))
        return abs(mean - 74.5) < 3.0 * deviation

    for values in (1 << 24, 800):
        monkeypatch.setattr(search, "_VALUES_AT_ONCE", values)
        for near in nearest_in_table(X, np.ones(2), np.arange(5, 600, 150), count, seed()):
            own = near[near // 150 == near[0] // 150]
            assert len(own) == min(count, 150)
            assert is_drawn(own[:30])
    for near in NearGroups(X, groups, seed()).around(places, count):
        some = near // 150 == np.bincount(near // 150).argmax()
        assert some.sum() == min(count, 150)
        assert is_drawn(near[some])
    labels = KMeansTree(30, np.ones(2)).fit(X, seed())
    for k in range(labels.max() + 1):
        assert is_drawn(np.flatnonzero(labels == k))


def test_no_piece_of_a_table_has_most_of_the_equal_rows(monkeypatch):
    """Ten pieces of 300 equal rows have about their shares of 100 that are near."""
    monkeypatch.setattr(search, "_VALUES_AT_ONCE", 600)
    X, draws = np.zeros((3000, 2)), np.random.RandomState(0)
    near = [nearest_in_table(X, np.ones(2), np.array([0]), 100, draws) for _ in range(10)]
    shares = np.bincount(np.concatenate(near, axis=None) // 300, minlength=10) / 1000
    assert shares.min() > 0.025 and shares.max() < 0.25


def test_a_large_table_is_never_copied_as_a_whole(rng, monkeypatch):
    """Memory of a search does not grow with the rows of a memory map."""
    X, seen = rng.standard_normal((1000, 2)), []

    class Table:
        shape = X.shape

        def __len__(self):
            return len(X)

        def __getitem__(self, key):
            seen.append(len(X[key]))
            return X[key]

    monkeypatch.setattr(search, "_VALUES_AT_ONCE", 200)
    nearest_in_table(Table(), np.ones(2), np.arange(3), 5, seed())
    assert max(seen) == 100


def test_all_distances_at_once_find_what_a_search_finds(rng, monkeypatch):
    """Few distances are one product, many a search of scikit-learn's."""
    points = rng.standard_normal((700, 5))
    at_once = nearest_rows(points, points[:60], 90)
    monkeypatch.setattr(search, "_MOST_DISTANCES", 0)
    assert_array_equal(nearest_rows(points, points[:60], 90), at_once)
    assert_array_equal(at_once[:, 0], np.arange(60))


@pytest.mark.parametrize("choice", [NeighboursChoice(8, 5), ChainChoice(1)])
def test_rows_around_several_cells(rng, choice):
    """Rows of several cells together hold those of each, in their order; -1 has none."""
    rows = rows_of(rng)
    blocks, _ = choice.make(rows, PartitionChoice("kmeans", 20), np.ones(2), seed())
    together, places = blocks.around([2, -1, 0, 3])
    for cell, place in zip([2, -1, 0, 3], places, strict=True):
        assert_array_equal(together.X[place], rows.X[blocks.near([cell])[0]])
    assert len(together) == len(np.unique(np.concatenate(places)))


def test_a_short_path_follows_a_line(rng):
    """Points on a curve come in their order along it, from one of its ends."""
    t = rng.permutation(40)
    order = short_path(np.column_stack([t, np.sin(t / 10.0)]))
    assert_array_equal(np.abs(np.diff(t[order])), 1)


def rows_of(rng, n=200):
    X = rng.uniform(0.0, 10.0, (n, 2))
    return Rows(X, X[:, :1].copy(), None, np.zeros(1), np.ones(1))


def seed():
    return np.random.RandomState(0)


CHOICES = {
    "lma": ChainChoice(1),
    "lma, two": ChainChoice(2),
    "vif": NeighboursChoice(8, 5),
}


@pytest.mark.parametrize("partition", ["kmeans", "contiguous", "random"])
@pytest.mark.parametrize("name", CHOICES)
def test_conditions_never_form_a_circle(rng, name, partition):
    """Every row is in one group, and there is an order in which conditions come earlier."""
    rows = rows_of(rng)
    blocks, _ = CHOICES[name].make(rows, PartitionChoice(partition, 30), np.ones(2), seed())
    groups = [blocks.members(g) for g in range(len(blocks.groups))]
    assert_array_equal(np.sort(np.concatenate(groups)), np.arange(200))
    waiting, known = set(range(len(groups))), np.zeros(200, dtype=bool)
    while waiting:
        ready = [g for g in waiting if known[blocks.before[g]].all()]
        assert ready
        for g in ready:
            known[groups[g]] = True
        waiting -= set(ready)


@pytest.mark.parametrize("name", CHOICES)
def test_pieces_hold_what_they_need(rng, name):
    """The pieces have all groups, own rows and conditions, before and after rows are copied."""
    rows = rows_of(rng)
    blocks, _ = CHOICES[name].make(rows, PartitionChoice("kmeans", 30), np.ones(2), seed())
    for one in (blocks, blocks.owned()):
        assert len(one) == len(one.edges) - 1 and one.bounds[-1] == 200
        g = 0
        for k in range(len(one)):
            piece = one(k)
            for before, own in piece.groups:
                assert_array_equal(piece.X[own], rows.X[blocks.members(g)])
                expected = rows.X[blocks.before[g]]
                assert_array_equal(np.unique(piece.X[before], axis=0), np.unique(expected, axis=0))
                g += 1
            assert len(piece) == one.bounds[k + 1] - one.bounds[k] == piece.total_weight


@pytest.mark.parametrize("name", CHOICES)
def test_later_rows_change_no_earlier_condition(rng, name):
    """New rows form new groups, conditioned on rows that came before; old groups stay."""
    rows, more = rows_of(rng), rows_of(rng, 70)
    blocks, partition = CHOICES[name].make(rows, PartitionChoice("kmeans", 30), np.ones(2), seed())
    cells = partition.assign(more.X)
    larger, _ = blocks.layout.with_rows(blocks, more, cells, partition, 30, seed())
    n_old = len(blocks.groups)
    for g in range(n_old):
        assert_array_equal(larger.members(g), blocks.members(g))
        assert_array_equal(larger.before[g], blocks.before[g])
    new = np.concatenate([larger.members(g) for g in range(n_old, len(larger.groups))])
    assert_array_equal(np.sort(new), np.arange(200, 270))
    assert larger.bounds[-1] == 270
    for g in range(n_old, len(larger.groups)):
        assert not np.intersect1d(larger.before[g], larger.members(g)).size
        assert len(larger.before[g])
    assert len(larger.around([0])[0]) > 0


def test_a_pickle_finds_the_same_rows(rng):
    """Of equally near ones, too, once later rows far away have split their cells."""
    rows, more = (
        Rows(X, X[:, :1].copy(), None, np.zeros(1), np.ones(1))
        for X in (rng.integers(0, 4, (600, 2)).astype(float), rng.uniform(8.0, 12.0, (10, 2)))
    )
    choice = PartitionChoice("kmeans", 300)
    blocks, partition = NeighboursChoice(20, 30).make(rows, choice, np.ones(2), seed())
    grown = more, partition.assign(more.X), partition, 300
    larger, partition = blocks.layout.with_rows(blocks, *grown, seed())
    cells, again = range(len(partition.centres)), pickle.loads(pickle.dumps(larger))
    for own, other in zip(larger.near(cells), again.near(cells), strict=True):
        assert_array_equal(own, other)


def test_parts_of_cells_are_in_line_with_the_chain(rng):
    """They came in the order of their numbers, so that cells far away were beside one another."""
    X = np.linspace(0.0, 9.0, 90)[rng.permutation(90), None]
    units = np.zeros(1), np.ones(1)
    rows, more = Rows(X, X, None, *units), Rows(X + 0.05, X, None, *units)
    blocks, partition = ChainChoice(1).make(rows, PartitionChoice("kmeans", 30), np.ones(1), seed())
    cells = partition.assign(more.X)
    grown, _ = blocks.layout.with_rows(blocks, more, cells, partition, 10, seed())
    centres = [grown.rows.X[grown.cells == k].mean() for k in np.argsort(grown.layout.position)]
    assert len(centres) > 10
    assert len(set(np.sign(np.diff(centres)))) == 1


def test_later_rows_of_a_chain_are_given_the_nearest_of_many(rng, monkeypatch):
    """Each later row is conditioned on its nearest rows of its cell and of the cells before."""
    rows, more, scale = rows_of(rng), rows_of(rng, 70), np.array([1.0, 3.0])
    blocks, partition = ChainChoice(1).make(rows, PartitionChoice("kmeans", 50), scale, seed())
    grown = more, partition.assign(more.X), partition, 50
    every, _ = blocks.layout.with_rows(blocks, *grown, seed())
    monkeypatch.setattr(chains, "_MOST_BEFORE", 30)
    near, _ = blocks.layout.with_rows(blocks, *grown, seed())
    fewer = 0
    for g in range(len(blocks.groups), len(near.groups)):
        own, before = near.members(g), near.before[g]
        assert_array_equal(own, every.members(g))
        most = max(30, -(-30 // len(own)) * len(own))
        assert np.isin(before, every.before[g]).all() and len(before) <= most
        fewer += len(before) < len(every.before[g])
        points = near.rows.X / scale
        for row in own:
            away = ((points[every.before[g]] - points[row]) ** 2).sum(axis=1)
            assert every.before[g][away.argmin()] in before
    assert fewer > 1


def test_rows_around_a_cell(rng):
    """Test rows see the cells next to theirs in a chain, or the rows nearest to the centre."""
    rows = rows_of(rng)
    chain, partition = ChainChoice(1).make(
        rows, PartitionChoice("contiguous", 20), np.ones(2), seed()
    )
    assert_array_equal(np.sort(chain.around([3])[0].X[:, 0]), np.sort(rows.X[40:100, 0]))
    assert len(chain.around([-1])[0]) == 0
    near, partition = NeighboursChoice(8, 5).make(
        rows, PartitionChoice("kmeans", 30), np.ones(2), seed()
    )
    centre = partition.centres[2]
    away = np.sort(((rows.X - centre) ** 2).sum(axis=1))
    found = ((near.around([2])[0].X - centre) ** 2).sum(axis=1)
    assert_allclose(np.sort(found), away[: len(found)])


def test_blocks_of_a_clusterer_are_known_around_their_means(rng):
    """Blocks of any size have as many near rows, as the docstring of ``partition`` says."""
    rows = rows_of(rng)
    choice = PartitionChoice(KMeans(2, n_init=1, random_state=0), 30)
    blocks, _ = NeighboursChoice(8, 5).make(rows, choice, np.ones(2), seed())
    for cell, near in enumerate(blocks.near([0, 1])):
        middle = rows.X[blocks.cells == cell].mean(axis=0)
        away = ((rows.X - middle) ** 2).sum(axis=1)
        assert len(near) == 26 < np.count_nonzero(blocks.cells == cell)
        assert away[near].max() <= np.sort(away)[25]


def clustered(rng, n, n_columns=16, count=200):
    """Rows of some clusters, which a tree with few branches at a node cuts in pieces."""
    centres = 1.5 * np.random.RandomState(5).standard_normal((count, n_columns))
    return centres[rng.integers(0, count, n)] + 0.7 * rng.standard_normal((n, n_columns))


def test_a_row_is_of_the_cell_with_the_nearest_centre(rng):
    """Of rows that it was not made from, too; near rows are near to more of them than by a tree."""
    X, X_new, ones = clustered(rng, 4000), clustered(rng, 200), np.ones(16)
    choice = PartitionChoice("kmeans", 500)
    blocks, partition = NeighboursChoice(30, 15).make(
        Rows(X, X[:, :1], None, np.zeros(1), np.ones(1)), choice, ones, seed()
    )
    away = ((X_new[:, None] - partition.centres) ** 2).sum(axis=2)
    assert_array_equal(partition.assign(X_new), away.argmin(axis=1))
    same, cells = partition.joined_by(Inputs(X_new), 0)
    assert same is partition
    assert_array_equal(cells, away.argmin(axis=1))

    tree = KMeansTree(15, ones)
    labels = tree.fit(X, seed())
    means = np.stack([X[labels == k].mean(axis=0) for k in range(tree.n_blocks)])
    nearest = nearest_rows(X, X_new, 10)
    by_tree = nearest_rows(X, means[tree.assign(X_new)], 90)
    ours = [blocks.near([cell])[0] for cell in partition.assign(X_new)]
    known = [
        np.mean([np.isin(*pair).mean() for pair in zip(nearest, near, strict=True)])
        for near in (ours, by_tree)
    ]
    assert known[0] > known[1] + 0.04


def test_centres_of_cells_move_where_there_is_time(rng, monkeypatch):
    """From the means of groups towards those of the rows that they are nearest to."""
    rows, choice = rows_of(rng), PartitionChoice("kmeans", 30)
    partition = NeighboursChoice(8, 5).make(rows, choice, np.ones(2), seed())[1]
    monkeypatch.setattr(near_cells, "_MOST_PRODUCTS", 0)
    blocks, stayed = NeighboursChoice(8, 5).make(rows, choice, np.ones(2), seed())
    means = [rows.X[blocks.members(g)].mean(axis=0) for g in range(len(blocks.groups))]
    assert_allclose(stayed.centres, means)
    errors = [
        ((rows.X - one.centres[one.assign(rows.X)]) ** 2).sum() for one in (partition, stayed)
    ]
    assert errors[0] < 0.99 * errors[1]


@pytest.mark.parametrize("partition", ["contiguous", "random"])
def test_groups_are_of_near_rows_whatever_way_is_named(rng, partition):
    """Runs of rows in no order, or random ones, lie apart, and no row is near all of them."""
    rows = rows_of(rng)
    (blocks, cells), (expected, nearest) = (
        NeighboursChoice(8, 5).make(rows, PartitionChoice(way, 30), np.ones(2), seed())
        for way in (partition, "kmeans")
    )
    assert_array_equal(cells.centres, nearest.centres)
    assert_array_equal(blocks.cells, expected.cells)
    for one, other in zip(blocks.before, expected.before, strict=True):
        assert_array_equal(one, other)


def test_cells_of_a_clusterer_are_its_own(rng):
    """A partition that the user has made stays what it is."""
    choice = PartitionChoice(KMeans(6, n_init=1, random_state=0), 30)
    _, partition = NeighboursChoice(8, 5).make(rows_of(rng), choice, np.ones(2), seed())
    assert isinstance(partition, ClustererPartition)


def test_workers_do_not_change_near_rows(rng):
    """Places that are searched for by two threads have the rows that one finds."""
    points, places = rng.standard_normal((3000, 3)), rng.standard_normal((500, 3))
    groups = np.array_split(rng.permutation(3000), 150)
    one, two = (NearGroups(points, groups, seed(), n_jobs) for n_jobs in (1, 2))
    for found, expected in zip(two.around(places, 40), one.around(places, 40), strict=True):
        assert_array_equal(found, expected)
    for found, expected in zip(two.earlier(40), one.earlier(40), strict=True):
        assert_array_equal(found, expected)


@pytest.mark.parametrize("column", [None, 1])
def test_shares_of_pieces_are_those_of_all(rng, monkeypatch, column):
    """Rows have the same cells, weights and slopes, however many are looked at together."""
    cells = near_cells.NearestCells(rng.standard_normal((9, 3)), np.array([1.0, 2.0, 0.5]))
    X = rng.standard_normal((53, 3))
    whole = cells.weights(X, column)
    assert whole.n_further
    monkeypatch.setattr(near_cells, "_ASSIGN_ROWS", 8)
    pieces = cells.weights(X, column)
    for name in ("row", "cell", "weight", "slope"):
        assert_array_equal(getattr(pieces, name), getattr(whole, name))


def test_a_chain_goes_by_the_order_of_its_cells():
    """Cells are conditioned on those just before them in the chain, whatever their numbers are."""
    position = np.array([2, 0, 3, 1])  # the chain is 1, 3, 0, 2
    before = {order: [list(Chain(order, position).before(k)) for k in range(4)] for order in (1, 2)}
    assert before[1] == [[3], [], [0], [1]]
    assert before[2] == [[1, 3], [], [0, 3], [1]]
