# Every function of the client against a service: `Rscript tests/service.R`, with GRAPHVEIL_URL and GRAPHVEIL_TOKEN.
library(graphveil)

refused <- function(call) tryCatch({ force(call); NULL }, graphveil_problem = identity)

gv <- graphveil()
stopifnot(!any(grepl(gv$token, capture.output(print(gv)), fixed = TRUE)))

n <- 60
edges <- data.frame(source = rep(0:(n - 1), each = 3), step = rep(1:3, n))
edges$target <- (7 * edges$source + edges$step) %% n
schema <- list(
  node_types = list(list(name = "person", count = n)),
  edge_types = list(list(name = "mail", source = "person", target = "person"))
)
set.seed(NULL)
dataset <- gv_register_dataset(gv, paste0("from-r-", sample(1e9, 1)), unit = "edge", epsilon = "4",
  graph_schema = schema)
received <- gv_upload(gv, dataset$id, edges[c("source", "target")])
stopifnot(gv_wait_ready(gv, dataset$id)$state == "ready")

problem <- refused(gv_submit(gv, dataset$id, epsilon = "100"))
stopifnot(!is.null(problem), grepl("budget", problem$type), nzchar(conditionMessage(problem)))
stopifnot(refused(gv_report(gv, "job_none"))$status == 404)
stopifnot(refused(gv_confirm_schema(gv, "ds_none", schema))$status == 404)

plan <- gv_plan(gv, dataset$id, epsilon = "1")
stopifnot(length(plan) > 0, gv_budget(gv, dataset$id)$charged$nano_epsilon == 0)
job <- gv_submit(gv, dataset$id, epsilon = "1")
stopifnot(gv_wait(gv, job$id)$state == "published")
report <- gv_report(gv, job$id)
stopifnot(report$public$guarantee$epsilon == "1", report$public$guarantee$kind == "pure")
left <- gv_budget(gv, dataset$id)
stopifnot(left$remaining$nano_epsilon == 3e9)

named <- vapply(gv_artifacts(gv, job$id), function(each) each$name, "")
stopifnot(all(c("graph.csv", "nodes.csv", "public.json") %in% named))
graph <- gv_release(gv, job$id)
told <- report$public$statistics$edge_types[[1]]$edges
stopifnot(igraph::is_igraph(graph), igraph::vcount(graph) == n, igraph::ecount(graph) == told)
stopifnot(!igraph::is_directed(graph), all(igraph::V(graph)$type == "person"))

again <- gv_sample(gv, job$id)
stopifnot(gv_wait(gv, again$id)$state == "published", gv_budget(gv, dataset$id)$remaining$nano_epsilon == 3e9)
other <- gv_release(gv, again$id)
stopifnot(igraph::vcount(other) == n, gv_report(gv, again$id)$public$provenance$sample_of == job$id)
cat("a release of", igraph::vcount(graph), "nodes and", igraph::ecount(graph), "edges, and a further sample of",
  igraph::ecount(other), "edges\n")
