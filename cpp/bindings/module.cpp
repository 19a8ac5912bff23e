// Arrays in, arrays out, the GIL, exceptions. No logic.
//
// Every call that takes the forest's lock releases the GIL first: whoever holds the lock may want the GIL, to report
// progress. Every call that computes does so in the standard arithmetic, whatever other libraries have set.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/kernels.h"
#include "base/standard_floats.h"
#include "forest.h"
#include "io/frozen_bytes.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace deciduous;

namespace {

using Ids = nb::ndarray<RowId const, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Labels = nb::ndarray<Label const, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<Count const, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<float const, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Targets = nb::ndarray<Target const, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Shares = nb::ndarray<double const, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Sums = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Keys = nb::ndarray<std::uint8_t const, nb::shape<-1, 16>, nb::c_contig, nb::device::cpu>;
using Digests =
    nb::ndarray<std::uint8_t const, nb::shape<-1, std::tuple_size_v<Digest>>, nb::c_contig, nb::device::cpu>;

using Bytes = nb::ndarray<std::uint8_t const, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// While the core works.
struct InCore {
    nb::gil_scoped_release unlocked;
    StandardFloats floats;
};

template <typename Array>
auto as_span(Array const& array) {
    return std::span(array.data(), array.size());
}

Matrix as_matrix(Rows const& rows) {
    return {rows.data(), rows.shape(0), rows.shape(1)};
}

// Weights may be left out: then all of them are 1. Only rows of a regression forest have targets.
WipedVector<WeightedLabel> as_votes(Labels const& labels, std::optional<Counts> const& weights,
                                    std::optional<Targets> const& targets) {
    WipedVector<WeightedLabel> votes(labels.size());
    for (std::size_t i = 0; i < votes.size(); ++i)
        votes[i] = {labels.data()[i], weights ? weights->data()[i] : 1, targets ? targets->data()[i] : 0};
    return votes;
}

Classes as_classes(Keys const& keys, std::optional<Counts> const& weights) {
    Classes classes;
    classes.keys.resize(keys.shape(0));
    std::memcpy(classes.keys.data(), keys.data(), keys.size());
    if (weights)
        classes.weights.assign(weights->data(), weights->data() + weights->size());
    return classes;
}

// Hands a vector to NumPy without a copy.
template <typename Vector>
auto to_numpy(Vector vector, std::initializer_list<std::size_t> shape) {
    auto owned = std::make_unique<Vector>(std::move(vector));
    nb::capsule const owner(owned.get(), [](void* data) noexcept { delete static_cast<Vector*>(data); });
    return nb::ndarray<nb::numpy, typename Vector::value_type>(owned.release()->data(), shape, owner);
}

template <typename Vector>
auto to_numpy(Vector vector) {
    std::size_t const n = vector.size();
    return to_numpy(std::move(vector), {n});
}

// Lets Ctrl-C stop long work, and tells `callback` how far it is.
Progress progress_to(nb::object const& callback) {
    return [&callback](std::size_t n_done) {
        nb::gil_scoped_acquire const locked;
        if (PyErr_CheckSignals() != 0)
            throw nb::python_error();
        if (!callback.is_none())
            callback(n_done);
    };
}

// The same for work that must not stop: whatever the callback raises is reported and passed over, and Ctrl-C waits
// until the work is done.
Progress unstoppable_progress_to(nb::object const& callback) {
    if (callback.is_none())
        return {};
    return [&callback, is_interrupted = false](std::size_t n_done) mutable {
        if (is_interrupted)
            return;
        nb::gil_scoped_acquire const locked;
        try {
            callback(n_done);
        } catch (std::bad_alloc const&) {  // less important than the work
        } catch (nb::python_error& error) {
            is_interrupted = error.matches(PyExc_KeyboardInterrupt);
            if (is_interrupted)
                PyErr_SetInterrupt();
            else
                error.discard_as_unraisable("deciduous: progress of an update");
        }
    };
}

std::string hex(Digest const& digest) {
    constexpr char const* kDigits = "0123456789abcdef";
    std::string text;
    for (std::uint8_t const byte : digest) {
        text += kDigits[byte >> 4];
        text += kDigits[byte & 15];
    }
    return text;
}

void bind_params(nb::module_& m) {
    nb::enum_<Criterion>(m, "Criterion")
        .value("gini", Criterion::gini)
        .value("entropy", Criterion::entropy)
        .value("squared_error", Criterion::squared_error);
    nb::enum_<CandidateScheme>(m, "CandidateScheme")
        .value("valid", CandidateScheme::valid)
        .value("uniform", CandidateScheme::uniform);
    nb::class_<Params>(m, "Params")
        .def(nb::init<>())
        .def_rw("n_trees", &Params::n_trees)
        .def_rw("trees_per_row", &Params::trees_per_row)
        .def_rw("max_depth", &Params::max_depth)
        .def_rw("random_depth", &Params::random_depth)
        .def_rw("n_thresholds", &Params::n_thresholds)
        .def_rw("max_features", &Params::max_features)
        .def_rw("min_samples_split", &Params::min_samples_split)
        .def_rw("min_samples_leaf", &Params::min_samples_leaf)
        .def_rw("candidates", &Params::candidates)
        .def_rw("criterion", &Params::criterion)
        .def_rw("stability", &Params::stability)
        .def_rw("seed", &Params::seed);
    nb::class_<Tuning>(m, "Tuning")
        .def(nb::init<>())
        .def_rw("min_cached_rows", &Tuning::min_cached_rows)
        .def_rw("max_bytes_per_row", &Tuning::max_bytes_per_row)
        .def_rw("max_bytes_per_row_with_target", &Tuning::max_bytes_per_row_with_target)
        .def_rw("reserve", &Tuning::reserve)
        .def_rw("min_settled_rows", &Tuning::min_settled_rows)
        .def_rw("min_alternate_rows", &Tuning::min_alternate_rows)
        .def_rw("max_alternate_share", &Tuning::max_alternate_share)
        .def_rw("rows_per_change", &Tuning::rows_per_change)
        .def_rw("max_batch_beside_alternates", &Tuning::max_batch_beside_alternates)
        .def_rw("min_postponed_rows", &Tuning::min_postponed_rows)
        .def_rw("max_postponed_rows", &Tuning::max_postponed_rows)
        .def_rw("max_small_rows", &Tuning::max_small_rows)
        .def_rw("max_small_classes", &Tuning::max_small_classes)
        .def_rw("max_rows_with_bits", &Tuning::max_rows_with_bits)
        .def_rw("look_ups_per_sort", &Tuning::look_ups_per_sort)
        .def_rw("rows_per_look_up", &Tuning::rows_per_look_up)
        .def_rw("rows_per_target_look_up", &Tuning::rows_per_target_look_up)
        .def_rw("rows_per_code", &Tuning::rows_per_code)
        .def_rw("max_codes", &Tuning::max_codes)
        .def_rw("max_categories_with_bits", &Tuning::max_categories_with_bits)
        .def_rw("max_laid_out_values", &Tuning::max_laid_out_values)
        .def_rw("min_rows_for_threads", &Tuning::min_rows_for_threads)
        .def_rw("max_waste", &Tuning::max_waste);
}

// A read-only property that is a copy of a vector.
template <typename T, typename Vector>
void def_array(nb::class_<T>& its_class, char const* name, Vector T::* member) {
    its_class.def_prop_ro(name, [member](T const& self) { return to_numpy(self.*member); }, nb::rv_policy::automatic);
}

void bind_results(nb::module_& m) {
    nb::class_<UpdateCost>(m, "UpdateCost")
        .def_ro("nodes_rebuilt", &UpdateCost::nodes_rebuilt)
        .def_ro("rows_retrained", &UpdateCost::rows_retrained)
        .def_ro("n_rows_regrown", &UpdateCost::n_rows_regrown);
    nb::class_<MemoryUse>(m, "MemoryUse")
        .def_ro("data", &MemoryUse::data)
        .def_ro("structure", &MemoryUse::structure)
        .def_ro("decision_stats", &MemoryUse::decision_stats)
        .def_ro("leaf_stats", &MemoryUse::leaf_stats);
    nb::class_<HeldRows> held(m, "HeldRows");
    def_array(held, "values", &HeldRows::values);
    def_array(held, "labels", &HeldRows::labels);
    def_array(held, "weights", &HeldRows::weights);
    def_array(held, "targets", &HeldRows::targets);
    nb::class_<TreeArrays> arrays(m, "TreeArrays");
    def_array(arrays, "kind", &TreeArrays::kind);
    def_array(arrays, "depth", &TreeArrays::depth);
    def_array(arrays, "attribute", &TreeArrays::attribute);
    def_array(arrays, "threshold", &TreeArrays::threshold);
    def_array(arrays, "right", &TreeArrays::right);
    def_array(arrays, "counts", &TreeArrays::counts);
    def_array(arrays, "ids", &TreeArrays::ids);
    def_array(arrays, "n_ids", &TreeArrays::n_ids);
    def_array(arrays, "means", &TreeArrays::means);
    def_array(arrays, "errors", &TreeArrays::errors);
}

// For what Python computes on the way in: `with StandardFloats(): ...`
void bind_floats(nb::module_& m) {
    struct Block {
        std::optional<StandardFloats> floats;
    };
    nb::class_<Block>(m, "StandardFloats")
        .def(nb::init<>())
        .def("__enter__", [](Block& self) { self.floats.emplace(); })
        .def(
            "__exit__", [](Block& self, nb::handle, nb::handle, nb::handle) { self.floats.reset(); }, "kind"_a.none(),
            "error"_a.none(), "trace"_a.none());
}

void bind_errors(nb::module_& m) {
    // NOLINTBEGIN(bugprone-throw-keyword-missing,bugprone-unused-raii): making one registers it
    nb::exception<InvalidArgument>(m, "InvalidArgument", PyExc_ValueError);
    nb::exception<UnknownRow>(m, "UnknownRow", PyExc_KeyError);
    nb::exception<CorruptData>(m, "CorruptData", PyExc_ValueError);
    nb::exception<EmptyForest>(m, "EmptyForest", PyExc_ValueError);
    nb::exception<BrokenForest>(m, "BrokenForest", PyExc_RuntimeError);
    // NOLINTEND(bugprone-throw-keyword-missing,bugprone-unused-raii)
}

void bind_updates(nb::class_<Forest>& forest) {
    forest
        .def(
            "fit",
            [](Forest& self, Ids ids, Rows rows, Labels labels, std::optional<Counts> weights, std::size_t n_threads,
               nb::object progress, std::optional<Targets> targets) {
                auto const report = progress_to(progress);
                InCore const unlocked;
                self.fit(as_span(ids), as_matrix(rows), as_votes(labels, weights, targets), {n_threads, false}, report);
            },
            "ids"_a, "rows"_a, "labels"_a, "weights"_a.none(), "n_threads"_a, "progress"_a.none(),
            "targets"_a.none() = nb::none())
        .def(
            "take_rows",
            [](Forest& self, Ids ids, Rows rows, Labels labels, std::optional<Counts> weights, std::size_t n_threads,
               std::optional<Targets> targets) {
                InCore const unlocked;
                self.take_rows({as_span(ids), as_matrix(rows), as_votes(labels, weights, targets)}, {n_threads, false});
            },
            "ids"_a, "rows"_a, "labels"_a, "weights"_a.none(), "n_threads"_a, "targets"_a.none() = nb::none())
        .def(
            "grow",
            [](Forest& self, std::size_t n_threads, nb::object progress) {
                auto const report = progress_to(progress);
                InCore const unlocked;
                self.grow({n_threads, false}, report);
            },
            "n_threads"_a, "progress"_a.none())
        .def(
            "update_rows",
            [](Forest& self, Ids leaving, Ids ids, Rows rows, Labels labels, std::optional<Counts> weights,
               Keys class_keys, std::optional<Counts> class_weights, std::size_t n_threads, bool lazy,
               nb::object progress, std::optional<Targets> targets) {
                auto const report = unstoppable_progress_to(progress);
                InCore const unlocked;
                return self.update_rows(as_span(leaving),
                                        {as_span(ids), as_matrix(rows), as_votes(labels, weights, targets)},
                                        as_classes(class_keys, class_weights), {n_threads, lazy}, report);
            },
            "leaving"_a, "ids"_a, "rows"_a, "labels"_a, "weights"_a.none(), "class_keys"_a, "class_weights"_a.none(),
            "n_threads"_a, "lazy"_a, "progress"_a.none(), "targets"_a.none() = nb::none())
        .def(
            "compact",
            [](Forest& self, std::size_t n_threads) {
                InCore const unlocked;
                self.compact({n_threads, false});
            },
            "n_threads"_a)
        .def(
            "settle",
            [](Forest& self, double seconds, std::size_t n_threads) {
                nb::object const nobody = nb::none();
                auto const report = progress_to(nobody);
                InCore const unlocked;
                return self.settle(std::chrono::duration<double>(seconds), {n_threads, false}, report);
            },
            "seconds"_a, "n_threads"_a)
        .def(
            "deletion_cost",
            [](Forest& self, Ids ids, std::size_t n_threads, bool lazy) {
                InCore const unlocked;
                return self.deletion_cost(as_span(ids), {n_threads, lazy});
            },
            "ids"_a, "n_threads"_a, "lazy"_a)
        .def(
            "deletion_costs",
            [](Forest& self, Ids ids, std::size_t n_threads, bool lazy) {
                nb::object const nobody = nb::none();
                auto const report = progress_to(nobody);
                std::vector<std::uint64_t> costs;
                {
                    InCore const unlocked;
                    costs = self.deletion_costs(as_span(ids), {n_threads, lazy}, report);
                }
                return to_numpy(std::move(costs));
            },
            "ids"_a, "n_threads"_a, "lazy"_a);
}

void bind_reading(nb::class_<Forest>& forest) {
    forest
        .def(
            "predict",
            [](Forest& self, Rows rows, std::size_t n_threads) {
                ClassShares result;
                {
                    InCore const unlocked;
                    result = self.predict(as_matrix(rows), {n_threads, false});
                }
                return to_numpy(std::move(result.shares), {rows.shape(0), result.n_classes});
            },
            "rows"_a, "n_threads"_a)
        .def(
            "add_predictions",
            [](Forest& self, Rows rows, Sums sums, std::size_t n_threads) {
                InCore const unlocked;
                return self.add_predictions(as_matrix(rows), {n_threads, false}, std::span(sums.data(), sums.size()));
            },
            "rows"_a, "sums"_a, "n_threads"_a)
        .def(
            "predict_quantiles",
            [](Forest& self, Rows rows, Shares shares, std::size_t n_threads) {
                nb::object const nobody = nb::none();
                auto const report = progress_to(nobody);
                std::vector<double> quantiles;
                {
                    InCore const unlocked;
                    quantiles = self.predict_quantiles(as_matrix(rows), as_span(shares), {n_threads, false}, report);
                }
                return to_numpy(std::move(quantiles), {rows.shape(0), shares.size()});
            },
            "rows"_a, "shares"_a, "n_threads"_a)
        .def(
            "predict_out_of_bag",
            [](Forest& self, std::size_t n_threads) {
                ClassShares result;
                {
                    InCore const unlocked;
                    result = self.predict_out_of_bag({n_threads, false});
                }
                std::size_t const n_rows = result.shares.size() / std::max<std::size_t>(1, result.n_classes);
                return to_numpy(std::move(result.shares), {n_rows, result.n_classes});
            },
            "n_threads"_a)
        .def(
            "fingerprint",
            [](Forest& self, std::size_t n_threads) {
                InCore const unlocked;
                return hex(self.fingerprint({n_threads, false}));
            },
            "n_threads"_a)
        .def(
            "tree_digests",
            [](Forest& self, std::size_t n_threads) {
                std::vector<Digest> digests;
                {
                    InCore const unlocked;
                    digests = self.tree_digests({n_threads, false});
                }
                std::vector<std::uint8_t> bytes;
                for (Digest const& digest : digests)
                    bytes.insert(bytes.end(), digest.begin(), digest.end());
                return to_numpy(std::move(bytes), {digests.size(), std::tuple_size_v<Digest>});
            },
            "n_threads"_a)
        .def(
            "fingerprint_of",
            [](Forest const& self, std::uint64_t n_rows, Labels present, Digests trees) {
                std::vector<Digest> digests(trees.shape(0));
                std::memcpy(digests.data(), trees.data(), trees.size());
                InCore const unlocked;
                return hex(self.fingerprint_of(n_rows, as_span(present), digests));
            },
            "n_rows"_a, "present"_a, "trees"_a)
        .def(
            "verify",
            [](Forest& self, std::size_t n_threads, nb::object progress) {
                auto const report = progress_to(progress);
                InCore const unlocked;
                return self.verify({n_threads, false}, report);
            },
            "n_threads"_a, "progress"_a.none())
        .def(
            "check",
            [](Forest& self, std::size_t n_threads) {
                InCore const unlocked;
                return self.check({n_threads, false});
            },
            "n_threads"_a)
        .def(
            "tree_arrays",
            [](Forest& self, std::size_t tree) {
                InCore const unlocked;
                return self.tree_arrays(tree);
            },
            "tree"_a)
        .def("rows_as_bytes",
             [](Forest const& self) {
                 WipedVector<std::uint8_t> bytes;
                 {
                     InCore const unlocked;
                     bytes = self.rows_as_bytes();
                 }
                 return to_numpy(std::move(bytes));
             })
        .def(
            "tree_as_bytes",
            [](Forest& self, std::size_t tree) {
                WipedVector<std::uint8_t> bytes;
                {
                    InCore const unlocked;
                    bytes = self.tree_as_bytes(tree);
                }
                return to_numpy(std::move(bytes));
            },
            "tree"_a)
        .def(
            "restore",
            [](Forest& self, Bytes rows, std::vector<Bytes> const& trees, std::size_t n_threads, nb::object progress) {
                auto const report = progress_to(progress);
                std::vector<std::span<std::uint8_t const>> tree_spans;
                tree_spans.reserve(trees.size());
                for (Bytes const& tree : trees)
                    tree_spans.push_back(as_span(tree));
                InCore const unlocked;
                self.restore(as_span(rows), tree_spans, {n_threads, false}, report);
            },
            "rows"_a, "trees"_a, "n_threads"_a, "progress"_a.none())
        .def(
            "freeze",
            [](Forest& self, Labels classes, std::size_t n_threads) {
                InCore const unlocked;
                return self.freeze(as_span(classes), {n_threads, false});
            },
            "classes"_a, "n_threads"_a)
        .def("class_totals",
             [](Forest const& self) {
                 std::vector<Count> totals;
                 {
                     InCore const unlocked;
                     totals = self.class_totals();
                 }
                 return to_numpy(std::move(totals));
             })
        .def("memory", &Forest::memory, nb::call_guard<InCore>())
        .def("ids",
             [](Forest const& self) {
                 std::vector<RowId> ids;
                 {
                     InCore const unlocked;
                     ids = self.ids();
                 }
                 return to_numpy(std::move(ids));
             })
        .def(
            "rows",
            [](Forest const& self, Ids ids) {
                InCore const unlocked;
                return self.rows(as_span(ids));
            },
            "ids"_a)
        .def(
            "holds",
            [](Forest const& self, Ids ids) {
                std::vector<std::uint8_t> held;
                {
                    InCore const unlocked;
                    held = self.holds(as_span(ids));
                }
                return to_numpy(std::move(held));
            },
            "ids"_a)
        .def(
            "needs",
            [](Forest const& self, Ids ids) {
                std::vector<std::uint8_t> needed;
                {
                    InCore const unlocked;
                    needed = self.needs(as_span(ids));
                }
                return to_numpy(std::move(needed));
            },
            "ids"_a)
        .def("raw_data",
             [](Forest const& self) {
                 std::vector<std::uint8_t> bytes;
                 {
                     InCore const unlocked;
                     bytes = self.raw_data();
                 }
                 return nb::bytes(bytes.data(), bytes.size());
             })
        .def_prop_ro("n_rows", &Forest::n_rows, nb::call_guard<InCore>())
        .def_prop_ro("n_trees", &Forest::n_trees)
        .def_prop_ro("n_classes", &Forest::n_classes, nb::call_guard<InCore>())
        .def_prop_ro("n_updates", &Forest::n_updates, nb::call_guard<InCore>())
        .def_prop_ro("n_nodes_hashed", &Forest::n_nodes_hashed, nb::call_guard<InCore>())
        .def_prop_ro("n_unbuilt", &Forest::n_unbuilt, nb::call_guard<InCore>());
}

void bind_frozen(nb::module_& m) {
    nb::class_<FrozenForest>(m, "FrozenForest")
        .def_static(
            "from_bytes",
            [](Bytes bytes, Counts n_categories, bool are_means) {
                InCore const unlocked;
                return read_frozen(as_span(bytes), Schema(as_span(n_categories)), are_means);
            },
            "bytes"_a, "n_categories"_a, "are_means"_a)
        .def("as_bytes",
             [](FrozenForest const& self) {
                 WipedVector<std::uint8_t> bytes;
                 {
                     InCore const unlocked;
                     bytes = write_frozen(self);
                 }
                 return to_numpy(std::move(bytes));
             })
        .def(
            "predict",
            [](FrozenForest const& self, Rows rows, std::size_t n_threads) {
                std::vector<double> shares;
                {
                    InCore const unlocked;
                    shares = self.predict(as_matrix(rows), n_threads);
                }
                return to_numpy(std::move(shares), {rows.shape(0), self.n_classes()});
            },
            "rows"_a, "n_threads"_a)
        .def(
            "with_attributes",
            [](FrozenForest const& self, Counts n_categories, Labels kept) {
                return self.with_attributes(Schema(as_span(n_categories)), as_span(kept));
            },
            "n_categories"_a, "kept"_a)
        .def("used_attributes", [](FrozenForest const& self) { return to_numpy(self.used_attributes()); })
        .def_prop_ro("memory", &FrozenForest::memory)
        .def_prop_ro("n_attributes", &FrozenForest::n_attributes)
        .def_prop_ro("n_classes", &FrozenForest::n_classes)
        .def_prop_ro("n_trees", &FrozenForest::n_trees)
        .def_prop_ro("n_nodes", &FrozenForest::n_nodes)
        .def_prop_ro("n_leaf_values", &FrozenForest::n_leaf_values);
}

void bind_processors(nb::module_& m) {
    m.def("processor", [] { return kernels::chosen->name; }, "For which processors the inner loops in use are.");
    m.def(
        "processors",
        [] {
            auto const [sets, n] = kernels::available();
            std::vector<std::string> names;
            names.reserve(n);
            for (std::size_t i = 0; i < n; ++i)
                names.emplace_back(sets[i]->name);
            return names;
        },
        "Those for which this machine can run them: what the environment variable DECIDUOUS_PROCESSOR may say.");
}

}  // namespace

NB_MODULE(_core, m) {
    bind_processors(m);
    bind_params(m);
    bind_results(m);
    bind_floats(m);
    bind_errors(m);
    bind_frozen(m);
    nb::class_<Forest> forest(m, "Forest");
    forest.def(
        "__init__",
        [](Forest* self, Params const& params, Tuning const& tuning, Counts n_categories, Keys class_keys,
           std::optional<Counts> class_weights, std::optional<std::pair<std::int32_t, double>> targets,
           std::optional<std::pair<std::uint32_t, std::uint32_t>> trees) {
            TargetScale const scale = targets ? TargetScale{targets->first, targets->second} : TargetScale{};
            auto const range = trees ? std::optional(TreeRange{trees->first, trees->second}) : std::nullopt;
            new (self) Forest(params, tuning, Schema(as_span(n_categories)), as_classes(class_keys, class_weights),
                              scale, range);
        },
        "params"_a, "tuning"_a, "n_categories"_a, "class_keys"_a, "class_weights"_a.none(),
        "targets"_a.none() = nb::none(), "trees"_a.none() = nb::none());
    bind_updates(forest);
    bind_reading(forest);
}
