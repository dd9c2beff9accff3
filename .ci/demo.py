"The main job on data that ships with the package: load a network, sample it, describe both."
import discrete_score as ds

net = ds.load_network("alarm")
table = ds.as_table(net.sample(10_000, seed=0), unused="drop")
order = [net.names[j] for j in ds.topological_order(net.dag)]
print(net)
print(f"{table.n:,} rows, {table.d} columns, {int(table.n_states.sum())} states seen")
print(f"the true order misplaces {ds.d_top(order, net.dag, names=net.names)} of {net.dag.sum()} edges,",
      f"the reversed one {ds.d_top(order[::-1], net.dag, names=net.names)}")
