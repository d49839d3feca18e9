//! A database in the hands of someone who knows SQL: its tables and columns as
//! the schema has them, and one value changed to another valid one.

use std::{fmt, path::Path};

use rusqlite::{Connection, params_from_iter, types::Value};

use crate::filled::Filled;

pub struct Data(pub Connection);

impl Data {
    pub fn open(directory: &Path) -> Data {
        Data(Connection::open(directory.join("wakeful.db")).unwrap())
    }

    /// All tables with their columns, apart from the full-text index, whose words
    /// a rebuild makes anew.
    pub fn tables(&self) -> Vec<(String, Vec<String>)> {
        let find = "SELECT name FROM sqlite_schema WHERE type = 'table'
            AND name NOT GLOB 'sqlite_*' AND name NOT GLOB 'search_[0-9]*' ORDER BY name";
        let mut find = self.0.prepare(find).unwrap();
        let names = find.query_map([], |row| row.get::<_, String>(0)).unwrap();
        let names: Vec<String> = names.map(Result::unwrap).collect();
        let columns = names.iter().map(|name| self.columns(name));
        names.iter().cloned().zip(columns).collect()
    }

    pub fn columns(&self, table: &str) -> Vec<String> {
        let mut find = self
            .0
            .prepare(&format!("PRAGMA table_info({table})"))
            .unwrap();
        let names = find.query_map([], |row| row.get::<_, String>(1)).unwrap();
        names.map(Result::unwrap).collect()
    }

    /// Tables of one row, or of none in an ordinary store.
    pub fn is_single(&self, table: &str) -> bool {
        self.columns(table).iter().any(|column| column == "one") || table == "eras"
    }

    pub fn rows(&self, table: &str) -> Vec<Vec<Value>> {
        // A block that is empty may be there or not; nobody is told of it.
        let which = if table == "blocks" {
            "WHERE n <> 0"
        } else {
            ""
        };
        let columns = self.columns(table);
        let mut find = self
            .0
            .prepare(&format!("SELECT * FROM {table} {which} ORDER BY 1, 2"))
            .or_else(|_| {
                self.0
                    .prepare(&format!("SELECT * FROM {table} {which} ORDER BY 1"))
            })
            .unwrap();
        let rows = find.query_map([], |row| {
            (0..columns.len())
                .map(|at| row.get::<_, Value>(at))
                .collect()
        });
        rows.unwrap().map(Result::unwrap).collect()
    }

    pub fn remove(&self, table: &str, row: &[Value]) {
        let columns = self.columns(table);
        let same = columns.iter().enumerate();
        let same: Vec<String> = same
            .map(|(at, name)| format!("\"{name}\" IS ?{}", at + 1))
            .collect();
        let sql = format!("DELETE FROM {table} WHERE {}", same.join(" AND "));
        let removed = self.0.execute(&sql, params_from_iter(row));
        assert_eq!(removed.unwrap(), 1, "{table}");
    }
}

/// One value of one row, changed.
#[derive(Debug)]
pub struct Change {
    pub table: String,
    pub column: String,
    columns: Vec<String>,
    before: Vec<Value>,
    value: Value,
    /// The row that had this value, which gets the other where values are unique.
    neighbour: Option<Vec<Value>>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.table, self.column)
    }
}

impl Change {
    /// Every way to give a row another row's value in this column, from the middle
    /// of the table on; where all have the same, a value that none has.
    pub fn all<'a>(
        data: &Data,
        table: &'a str,
        column: &'a str,
        filled: &'a Filled,
    ) -> impl Iterator<Item = Change> + use<'a> {
        let rows = data.rows(table);
        let columns = data.columns(table);
        let at = columns.iter().position(|name| name == column).unwrap();
        let start = rows.len() / 2;
        let order: Vec<usize> = (start..rows.len()).chain(0..start).collect();
        // A few rows of each value: most rows may have none.
        let mut picked: Vec<usize> = Vec::new();
        for &one in &order {
            let same = picked
                .iter()
                .filter(|other| rows[**other][at] == rows[one][at]);
            if same.count() < 3 && picked.len() < 40 {
                picked.push(one);
            }
        }
        let mut changes = Vec::new();
        for (&one, &other) in picked
            .iter()
            .flat_map(|one| picked.iter().map(move |other| (one, other)))
        {
            if rows[one][at] != rows[other][at] {
                let (row, other) = (&rows[one], &rows[other]);
                changes.push(Change::between(
                    table,
                    column,
                    columns.clone(),
                    row,
                    other,
                    at,
                ));
            }
        }
        let unused = order.first().and_then(|one| {
            let value = match (&rows[*one][at], table) {
                (Value::Integer(number), "detailed") => {
                    let free =
                        "SELECT no FROM deliveries WHERE no NOT IN (SELECT no FROM detailed)";
                    data.0
                        .query_row(free, [], |row| row.get(0))
                        .unwrap_or(Value::Integer(number + 1))
                }
                (Value::Integer(number), _) => Value::Integer(number + 1),
                (Value::Text(_), "head") => Value::Text(filled.older_note.clone()),
                (Value::Blob(bytes), _) => Value::Blob(bytes.iter().map(|byte| !byte).collect()),
                _ => return None,
            };
            let row = rows[*one].clone();
            Some(Change::new(
                table,
                column,
                columns.clone(),
                row,
                value,
                None,
            ))
        });
        changes.into_iter().chain(unused)
    }

    pub fn between(
        table: &str,
        column: &str,
        columns: Vec<String>,
        row: &[Value],
        neighbour: &[Value],
        at: usize,
    ) -> Change {
        let value = neighbour[at].clone();
        Change::new(
            table,
            column,
            columns,
            row.to_vec(),
            value,
            Some(neighbour.to_vec()),
        )
    }

    fn new(
        table: &str,
        column: &str,
        columns: Vec<String>,
        before: Vec<Value>,
        value: Value,
        neighbour: Option<Vec<Value>>,
    ) -> Change {
        Change {
            table: table.to_owned(),
            column: column.to_owned(),
            columns,
            before,
            value,
            neighbour,
        }
    }

    /// Writes it; where that is not allowed, the two rows change their values.
    /// False, and nothing is written, if that leaves the same rows.
    pub fn apply(&self, data: &Data) -> bool {
        let at = self.columns.iter().position(|name| *name == self.column);
        let at = at.unwrap();
        let mut after = self.before.clone();
        after[at] = self.value.clone();
        let before = data.rows(&self.table);
        data.0.execute_batch("BEGIN").unwrap();
        data.remove(&self.table, &self.before);
        let mut written = self.insert(data, &after).is_ok();
        if let (false, Some(neighbour)) = (written, &self.neighbour) {
            data.remove(&self.table, neighbour);
            let mut other = neighbour.clone();
            other[at] = self.before[at].clone();
            written = self.insert(data, &after).is_ok() && self.insert(data, &other).is_ok();
        }
        let changed = written && data.rows(&self.table) != before;
        data.0
            .execute_batch(if changed { "COMMIT" } else { "ROLLBACK" })
            .unwrap();
        changed
    }

    fn insert(&self, data: &Data, row: &[Value]) -> rusqlite::Result<usize> {
        let names: Vec<String> = self
            .columns
            .iter()
            .map(|name| format!("\"{name}\""))
            .collect();
        let places: Vec<String> = (1..=row.len()).map(|at| format!("?{at}")).collect();
        let sql = format!(
            "INSERT INTO {} ({}) VALUES ({})",
            self.table,
            names.join(", "),
            places.join(", ")
        );
        data.0.execute(&sql, params_from_iter(row))
    }
}
