# A thin client: each function is one call of the API, and answers are lists with the API's own names.

#' Connect to a service. The token is read from GRAPHVEIL_TOKEN where it is left out, and never printed.
graphveil <- function(url = Sys.getenv("GRAPHVEIL_URL"), token = Sys.getenv("GRAPHVEIL_TOKEN")) {
  if (!nzchar(url) || !nzchar(token)) stop("give url and token, or set GRAPHVEIL_URL and GRAPHVEIL_TOKEN")
  structure(list(url = sub("/+$", "", url), token = token), class = "graphveil")
}

print.graphveil <- function(x, ...) {
  cat("<graphveil ", x$url, ">\n", sep = "")
  invisible(x)
}

#' Call any route of the API: what has no function here. `body`: a list that becomes JSON, or upload_file().
#'
#' A refusal is an error of class "graphveil_problem" with the problem's `type`, `status` and `errors`.
gv_call <- function(gv, method, path, body = NULL, query = list(), once = FALSE) {
  answer <- .send(gv, method, path, body, query, once)
  text <- httr::content(answer, "text", encoding = "UTF-8")
  if (!nzchar(text)) return(invisible(NULL))
  jsonlite::fromJSON(text, simplifyVector = FALSE)
}

.send <- function(gv, method, path, body = NULL, query = list(), once = FALSE, ...) {
  headers <- c(Authorization = paste("Bearer", gv$token))
  if (once) headers["Idempotency-Key"] <- .key()
  if (is.list(body) && !inherits(body, "form_file")) {
    headers["Content-Type"] <- "application/json"
    body <- jsonlite::toJSON(body, auto_unbox = TRUE, null = "null", digits = NA)
  }
  # One with a key, or that changes nothing, may be sent again after a broken connection.
  tries <- if (once || method %in% c("GET", "PUT", "DELETE")) 3 else 1
  answer <- httr::RETRY(
    method, paste0(gv$url, "/v1", path), httr::add_headers(.headers = headers), ...,
    body = body, query = query, times = tries, terminate_on = setdiff(400:599, c(429, 503)), quiet = TRUE
  )
  if (httr::status_code(answer) >= 400) stop(.problem(answer))
  answer
}

.key <- function() paste0("r-", paste(sample(c(0:9, letters[1:6]), 32, replace = TRUE), collapse = ""))

.problem <- function(answer) {
  told <- tryCatch(
    jsonlite::fromJSON(httr::content(answer, "text", encoding = "UTF-8"), simplifyVector = FALSE),
    error = function(e) list()
  )
  said <- paste(c(told$title, told$detail), collapse = ": ")
  for (each in told$errors) {
    said <- paste0(said, "\n", paste(c(each$field, each$message, each$how_to_mend), collapse = ": "))
  }
  if (!nzchar(said)) said <- paste("the service answered", httr::status_code(answer))
  structure(
    class = c("graphveil_problem", "error", "condition"),
    list(message = said, call = NULL, type = told$type, status = httr::status_code(answer), errors = told$errors)
  )
}

#' Declare a dataset and open (or join) its budget account. Epsilon is a text, exact: "4".
gv_register_dataset <- function(gv, name, unit, epsilon, delta = "0", graph_schema = NULL, ...) {
  body <- list(name = name, unit = unit, epsilon = epsilon, delta = delta, ...)
  if (!is.null(graph_schema)) body$graph_schema <- graph_schema
  gv_call(gv, "POST", "/datasets", body)
}

#' Upload `nodes` or `edges`, from a file or a data frame. Nodes first: edges complete the upload.
gv_upload <- function(gv, dataset_id, source, part = "edges", format = "csv") {
  if (is.data.frame(source)) {
    path <- tempfile(fileext = ".csv")
    on.exit(unlink(path))
    utils::write.csv(source, path, row.names = FALSE, quote = TRUE, na = "")
    source <- path
  }
  gv_call(gv, "PUT", paste0("/datasets/", dataset_id, "/content"),
    httr::upload_file(source, "application/octet-stream"), list(part = part, format = format))
}

#' Wait until the upload was validated, or a schema was `proposed`; an error where it was rejected.
gv_wait_ready <- function(gv, dataset_id, timeout_seconds = 600) {
  found <- .poll(function() gv_call(gv, "GET", paste0("/datasets/", dataset_id)),
    function(one) one$state, c("ready", "rejected", "archived", "proposed"), timeout_seconds)
  if (identical(found$state, "rejected")) stop("the upload was rejected; see its findings")
  found
}

#' Declare the schema of an upload, or confirm the proposed one.
gv_confirm_schema <- function(gv, dataset_id, graph_schema) {
  gv_call(gv, "PUT", paste0("/datasets/", dataset_id, "/schema"), graph_schema)
}

#' What is left of the dataset's budget.
gv_budget <- function(gv, dataset_id) gv_call(gv, "GET", paste0("/datasets/", dataset_id, "/budget"))

#' What a job would cost and how exact it would be; nothing is spent.
gv_plan <- function(gv, dataset_id, epsilon, ...) {
  gv_call(gv, "POST", "/jobs", list(dataset_id = dataset_id, epsilon = epsilon, ...), list(dry_run = "true"))
}

#' Ask for a release. Formats hold csv, which gv_release() reads.
gv_submit <- function(gv, dataset_id, epsilon, ..., formats = "csv") {
  body <- list(dataset_id = dataset_id, epsilon = epsilon, formats = as.list(formats), ...)
  gv_call(gv, "POST", "/jobs", body, once = TRUE)
}

#' Draw again from a published job's model: free.
gv_sample <- function(gv, job_id, ..., formats = "csv") {
  gv_call(gv, "POST", paste0("/jobs/", job_id, "/samples"), list(formats = as.list(formats), ...), once = TRUE)
}

#' Wait until the job has ended; its `state` says how.
gv_wait <- function(gv, job_id, timeout_seconds = 3600) {
  .poll(function() gv_call(gv, "GET", paste0("/jobs/", job_id)), function(one) one$state,
    c("published", "failed", "cancelled", "rejected"), timeout_seconds)
}

.poll <- function(look, state, ends, timeout_seconds) {
  until <- Sys.time() + timeout_seconds
  repeat {
    found <- look()
    if (state(found) %in% ends) return(found)
    if (Sys.time() > until) stop("still ", state(found), " after ", timeout_seconds, " seconds")
    Sys.sleep(1)
  }
}

#' The release's report, as far as the caller may see it.
gv_report <- function(gv, job_id) gv_call(gv, "GET", paste0("/jobs/", job_id, "/report"))

#' The files of a release.
gv_artifacts <- function(gv, job_id) gv_call(gv, "GET", paste0("/jobs/", job_id, "/artifacts"))$items

#' Download one file of a release.
gv_download <- function(gv, job_id, name, path = name) {
  .send(gv, "GET", paste0("/jobs/", job_id, "/artifacts/", name), NULL, list(), FALSE,
    httr::write_disk(path, overwrite = TRUE))
  invisible(path)
}

#' Read a release, published with the format csv, as an igraph graph.
#'
#' Vertices carry `name` and `type` and whatever else the release tells of them, edges what stands beside their ends.
#' Of several relations the graph has them all, told apart by `type` of the edges.
gv_release <- function(gv, job_id, directed = FALSE) {
  if (!requireNamespace("igraph", quietly = TRUE)) stop("install igraph to read a release as a graph")
  folder <- tempfile("release")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  read <- function(name) {
    path <- gv_download(gv, job_id, name, file.path(folder, name))
    utils::read.csv(path, colClasses = "character", check.names = FALSE, na.strings = "")
  }
  edges <- read("graph.csv")
  nodes <- read("nodes.csv")
  nodes <- nodes[c("id", setdiff(names(nodes), "id"))]
  edges <- edges[c("source", "target", setdiff(names(edges), c("source", "target")))]
  typed <- function(frame, kept) {
    for (name in setdiff(names(frame), kept)) frame[[name]] <- utils::type.convert(frame[[name]], as.is = TRUE)
    frame
  }
  igraph::graph_from_data_frame(typed(edges, c("source", "target", "type")), directed, typed(nodes, c("id", "type")))
}
