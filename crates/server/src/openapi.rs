//! `/openapi.json`, made from the list of routes and the schemas; the
//! test-suite sends what they allow to a real server and holds its answers
//! against them.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::{routes, schemas};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    Open,
    Agent,
    Human,
    Owner,
}

/// What one operation takes and gives.
#[derive(Clone, Debug)]
pub struct Doc {
    summary: &'static str,
    tag: &'static str,
    auth: Auth,
    parameters: Vec<Value>,
    body: Option<&'static str>,
    responses: Map<String, Value>,
}

pub fn doc(summary: &'static str) -> Doc {
    Doc {
        summary,
        tag: "",
        auth: Auth::Open,
        parameters: Vec::new(),
        body: None,
        responses: Map::new(),
    }
}

impl Doc {
    pub fn tag(mut self, tag: &'static str) -> Doc {
        self.tag = tag;
        self
    }

    pub fn auth(mut self, auth: Auth) -> Doc {
        self.auth = auth;
        self.errors(&[401])
    }

    fn parameter(
        mut self,
        place: &str,
        name: &str,
        required: bool,
        schema: Value,
        text: &str,
    ) -> Doc {
        self.parameters.push(json!({
            "name": name, "in": place, "required": required, "schema": schema, "description": text
        }));
        self
    }

    pub fn path(self, name: &str, text: &str) -> Doc {
        self.parameter("path", name, true, json!({ "type": "string" }), text)
    }

    /// A path parameter from a closed set.
    pub fn path_of(self, name: &str, values: &[&str], text: &str) -> Doc {
        let schema = json!({ "type": "string", "enum": values });
        self.parameter("path", name, true, schema, text)
    }

    pub fn query(self, name: &str, kind: &str, text: &str) -> Doc {
        self.parameter("query", name, false, json!({ "type": kind }), text)
    }

    /// A whole number within a range.
    pub fn query_number(self, name: &str, least: u64, most: u64, text: &str) -> Doc {
        let schema = json!({ "type": "integer", "minimum": least, "maximum": most });
        self.parameter("query", name, false, schema, text)
    }

    pub fn header(self, name: &str, text: &str) -> Doc {
        self.parameter("header", name, false, json!({ "type": "string" }), text)
    }

    pub fn body(mut self, schema: &'static str) -> Doc {
        self.body = Some(schema);
        self
    }

    /// A JSON answer of a schema.
    pub fn answer(mut self, status: u16, schema: &str) -> Doc {
        let content = json!({ "application/json": { "schema": reference(schema) } });
        self.responses.insert(
            status.to_string(),
            json!({ "description": schema, "content": content }),
        );
        self
    }

    /// An answer in another form.
    pub fn content(mut self, status: u16, content_type: &str) -> Doc {
        let content = json!({ content_type: { "schema": {} } });
        self.responses.insert(
            status.to_string(),
            json!({ "description": "OK", "content": content }),
        );
        self
    }

    pub fn empty(mut self, status: u16) -> Doc {
        self.responses
            .insert(status.to_string(), json!({ "description": "Done" }));
        self
    }

    pub fn errors(mut self, statuses: &[u16]) -> Doc {
        for status in statuses {
            self.responses.insert(status.to_string(), problem(*status));
        }
        self
    }

    fn operation(&self) -> Value {
        let mut responses = self.responses.clone();
        // Any request may be malformed, come over the wrong transport, with the
        // wrong method or at a bad moment.
        for status in [400, 403, 405, 503] {
            let entry = responses.entry(status.to_string());
            entry.or_insert_with(|| problem(status));
        }
        // Whoever is recognised has limits.
        if self.auth != Auth::Open {
            let entry = responses.entry("429".to_owned());
            entry.or_insert_with(|| problem(429));
        }
        let mut operation = json!({
            "summary": self.summary, "tags": [self.tag], "responses": responses
        });
        if !self.parameters.is_empty() {
            operation["parameters"] = self.parameters.clone().into();
        }
        if let Some(schema) = self.body {
            let content = json!({ "application/json": { "schema": reference(schema) } });
            operation["requestBody"] = json!({ "required": true, "content": content });
        }
        operation["security"] = match self.auth {
            Auth::Open => json!([]),
            Auth::Agent => json!([{ "agentKey": [] }]),
            Auth::Human | Auth::Owner => json!([{ "humanToken": [] }]),
        };
        operation
    }
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": schemas::place(schema) })
}

fn problem(status: u16) -> Value {
    let mut problem = json!({
        "description": "A problem, with what to do about it",
        "content": { "application/problem+json": { "schema": reference("Problem") } }
    });
    let header = match status {
        401 => ("WWW-Authenticate", json!({ "const": "Bearer" })),
        429 | 503 => ("Retry-After", json!({ "type": "integer", "minimum": 1 })),
        _ => return problem,
    };
    problem["headers"] = json!({ header.0: { "required": true, "schema": header.1 } });
    problem
}

static DOCUMENT: LazyLock<String> = LazyLock::new(|| {
    let mut paths: Map<String, Value> = Map::new();
    for route in routes::all() {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method] = route.doc.operation();
    }
    let bearer = |text: &str| json!({ "type": "http", "scheme": "bearer", "description": text });
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Wakeful",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Agents deliver work, people decide, and all of it is on a trail.",
            "license": { "name": "MIT", "identifier": "MIT" }
        },
        "paths": paths,
        "components": {
            "schemas": schemas::all(),
            "securitySchemes": {
                "agentKey": bearer("An agent's key: wk_live_… or wk_test_…"),
                "humanToken": bearer("A person's token: wl_…")
            }
        }
    });
    document.to_string()
});

pub fn document() -> &'static str {
    &DOCUMENT
}
