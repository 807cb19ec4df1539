"""The trusted side: records and exact answers live here and nowhere else.

In: a table, a workload, a ledger. Out, through a `Door` only: released values, charged first. May import
`dpopt.transcript`, `dpopt.accounting`, `dpopt.queries` and `dpopt.errors`; it reaches no program, formulation or solver.
A new mechanism is a method of a curator (a `Door` of one family of algorithms), whose docstring states neighbouring relation,
sensitivity, theorem and the test that checks it, and a kind of charge in `dpopt.accounting`. What compares with the truth
(`evaluation`) returns a type that is marked not private and is for the owner, demonstrations and experiments.

| file | what it holds |
|---|---|
| door.py, closed.py | the order of every release: charge, draw, journal; what lets nothing be read off a holder of records |
| table_door.py, one_way_door.py | doors that also measure counts of queries; one-way marginals |
| dataset.py, public_facts.py | the encoded records; what may be known of them in public |
| curator.py, fem_curator.py, dqrs_curator.py | the curators of DualQuery and its relatives |
| measuring_curator.py | the curator of algorithms that measure counts and select marginals |
| multiplicative_curator.py, multiplicative_scores.py | the curator of multiplicative weights; what it selects, by which law |
| size_curator.py | the curator of the number of records, where it is private and not declared |
| measurement.py, noisy_counts.py | what is to be measured, with how much noise; where exact counts become noisy ones |
| bin_curator.py, bin_measurement.py, bin_counts.py | histograms and degrees: the curator, what it measures, exact counts |
| conjunction_curator.py | the curator of summaries: noisy counts of conjunctions |
| sanitizer_curator.py, sanitizer_sums.py | noisy sums of the coefficients of records' polynomials; the exact sums |
| halfspace_curator.py, halfspace_measurement.py | the curator of halfspaces; what is measured of points and what it costs |
| halfspace_points.py, halfspace_kernels.py | points of R^d, scaled and rounded; on which sides of halfspaces they lie |
| selection.py, candidate_scores.py, score_kernels.py, selection_law.py | what is selected; exact scores; the exact law |
| query_weights.py, sampler_kernels.py, exponential_table.py | the query player of DualQuery: exact draws from its weights |
| query_selection.py, reused_draws.py | the query player of FEM; which drawn queries DQRS keeps |
| list_reader.py, list_table.py, list_curator.py | rows that are decision lists: read, held, counted |
| interval_curator.py, interval_search.py, split_curator.py | the curators that search: ends of intervals, medians of boxes |
| net_curator.py, net_multisets.py, net_draw.py | the net mechanism and SmallDB: what is selected from, and the draw |
| net_boxes.py, net_kernels.py, net_law.py | exact draws by branch and bound; weights however small |
| exact_counts.py | the one place from which curators get exact counts |
| noise.py, randomness.py | integer noise, by OpenDP; the words of the operating system, for all other draws |
| read_table.py, open_table.py, table_sources.py | reading a table, whatever it is kept in |
| table_reading.py | how a table is read, as its owner declares it; public |
| csv_source.py, csv_files.py, parquet_source.py | CSV and Parquet files |
| read_counts.py, read_edges.py | counts that were made already; the edges of a graph |
| read_binary_table.py, bit_file_table.py, binary/ | wide tables of zeros and ones; a room with a card of its own |
| open_dataset.py | which engine counts on a table: memory, stream or Dask |
| batch_reader.py, kept_rows.py | codes batch by batch; which rows are counted: those that fit, K of a person |
| streamed_table.py, batch_counts.py, read_ahead.py, watched_files.py | tables left in their files, counted by batches |
| distributed_table.py, part_counts.py, dask_workers.py | parts counted by workers; the only file with Dask |
| encode.py, domain_codes.py, on_invalid.py, table_problems.py | values to codes; what does not fit the schema |
| draft_schema.py, draft_columns.py, draft_edges.py | a schema drafted from the table, for the owner to correct |
| evaluation.py, marginal_errors.py, rule_report.py | for the owner, NOT private: errors against the truth, broken rules |
"""
