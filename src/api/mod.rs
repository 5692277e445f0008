//! The configuration API: operations table, requests, responses, retry decisions, and the client.
