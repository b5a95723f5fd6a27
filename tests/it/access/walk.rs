//! Every route with every kind of caller and every role. What routes there are and what each needs comes from the routers
//! themselves; what that means is said here a second time.

use axum::http::Method;
use insta::assert_snapshot;
use toolpact::{
    access::{Caller, CallerKind, Right, Role},
    guard::{Need, Reach, Row},
    http, web,
};

use super::{App, Ask, answer, caller, scope, stranger};
use crate::{
    ask::{Answer, get, post, submit},
    seed,
};

/// Who may what, said independently of the table that is enforced.
fn may(kind: CallerKind, role: Role, right: Right) -> bool {
    use CallerKind::{Ci, Human};
    use Role::{Admin, Author, Operator, Reviewer};
    match right {
        Right::Read => true,
        Right::Draft => matches!(role, Author | Reviewer | Admin),
        Right::Review => kind == Human && matches!(role, Reviewer | Admin),
        Right::Promote => kind == Human && matches!(role, Operator | Admin),
        Right::RollBack => matches!(kind, Human | Ci) && matches!(role, Operator | Admin),
        Right::Configure | Right::Administer => kind == Human && role == Admin,
    }
}

pub(crate) fn rows() -> impl Iterator<Item = &'static Row> {
    http::needs().iter().chain(web::needs())
}

/// A request for a route, with names that exist and a body that changes nothing.
pub(crate) fn ask(row: &Row) -> Ask {
    let names = [
        ("{catalog}", "shop"),
        ("{environment}", "production"),
        ("{server}", "orders"),
        ("{version}", "2026.11.28"),
        ("{draft}", "4"),
        ("{check}", "1"),
        ("{tool}", "order_query"),
        ("{rule}", "enum-value-removed"),
        ("{token}", "tok-000000000000"),
        ("{team}", "nobody"),
        ("{webhook}", "1"),
        ("{delivery}", "1"),
        ("{state}", "active"),
    ];
    let path = names.iter().fold(row.path.clone(), |path, (part, name)| path.replace(part, name));
    assert!(!path.contains('{'), "{path}: say what to put for the parameter");
    if row.method == Method::GET {
        return get(&path);
    }
    if path.starts_with("/api/") {
        post(&path, serde_json::json!({})).method(row.method.clone())
    } else {
        submit(&path, &[])
    }
}

/// What became of a request, as far as permissions go.
fn fate(answer: &Answer) -> &'static str {
    let to_login = answer.header("location").starts_with("/login?");
    match answer.status.as_u16() {
        401 => "unknown",
        303 if to_login => "unknown",
        403 => "refused",
        500.. => "broken",
        _ => "let through",
    }
}

fn name(row: &Row) -> String {
    format!("{} {}", row.method, row.path)
}

#[test]
fn the_table_of_permissions() {
    let said = |need: Need| match need {
        Need::Nobody => "nobody".to_owned(),
        Need::Anybody => "anybody".to_owned(),
        Need::Right(right, reach) => {
            let reach = match reach {
                Reach::Nothing => "",
                Reach::Catalog => " in the catalog",
                Reach::Environment => " in the environment",
                Reach::WholeEnvironment => " of all in the environment",
                Reach::Everything => " of everything",
            };
            format!("{right}{reach}")
        }
    };
    let mut table: Vec<_> = rows().map(|row| format!("{}: {}", name(row), said(row.need))).collect();
    table.sort();
    assert_snapshot!(table.join("\n"));
}

#[tokio::test]
async fn whoever_is_not_known_sees_health_and_the_way_in() {
    let app = seed::story().await;
    for row in rows() {
        let wanted = if row.need == Need::Nobody { "let through" } else { "unknown" };
        let got = answer(&app, stranger(ask(row))).await;
        // The way in refuses what is no credential, which is no question of permissions.
        if !row.path.starts_with("/login") {
            assert_eq!(fate(&got), wanted, "{}: {}", name(row), got.body);
        }
    }
    let open: Vec<_> = rows().filter(|row| row.need == Need::Nobody).map(name).collect();
    assert_eq!(
        open.join("\n"),
        "GET /livez\nGET /readyz\nGET /login\nPOST /login\nGET /login/link\nGET /login/oidc\nGET /login/oidc/callback\n\
         POST /logout\nGET /assets/app.css\nGET /assets/app.js\nGET /assets/mark.svg"
    );
}

#[tokio::test]
async fn every_route_lets_through_whoever_may_and_nobody_else() {
    let app = seed::story().await;
    for row in rows() {
        for kind in CallerKind::ALL {
            for role in Role::ALL {
                let allowed = match row.need {
                    Need::Nobody | Need::Anybody => true,
                    Need::Right(right, _) => may(kind, role, right),
                };
                // One that lets through does not end.
                if allowed && row.path.ends_with("/stream") {
                    continue;
                }
                let got = answer(&app, ask(row).caller(Some(caller(kind, role)))).await;
                if row.path.starts_with("/login") || row.path == "/logout" {
                    continue;
                }
                let wanted = if allowed { "let through" } else { "refused" };
                assert_eq!(fate(&got), wanted, "{} as {kind} {role}: {}", name(row), got.body);
            }
        }
    }
}

#[tokio::test]
async fn no_route_reaches_beyond_a_scope() {
    let app = seed::story().await;
    let elsewhere =
        [scope(Some("other"), None), scope(None, Some("elsewhere")), scope(Some("other"), Some("elsewhere"))];
    for row in rows() {
        let Need::Right(_, reach) = row.need else { continue };
        for scope in &elsewhere {
            let bounded = Caller { scope: scope.clone(), ..Caller::local("bounded") };
            let got = fate(&answer(&app, ask(row).caller(Some(bounded))).await);
            let within = match reach {
                Reach::Nothing => true,
                Reach::Catalog => scope.catalogs.is_none(),
                // Of which catalog is in the body, and that is asked by the use case.
                Reach::Environment => scope.environments.is_none(),
                Reach::WholeEnvironment | Reach::Everything => false,
            };
            let wanted = if within { "let through" } else { "refused" };
            // What is live is in nobody's body: the use case has already looked.
            if !(within && reach == Reach::Environment && row.method == Method::GET) {
                assert_eq!(got, wanted, "{} with {scope:?}", name(row));
            }
        }
    }
}

#[tokio::test]
async fn moves_stay_within_the_catalogs_of_a_scope() {
    let app = seed::story().await;
    let bounded = |catalog| {
        let scope = scope(Some(catalog), None);
        Caller { scope, ..Caller::local("bounded") }
    };
    let body = |more: serde_json::Value| {
        let mut body = serde_json::json!({ "catalog": "shop", "reason": "because" });
        body.as_object_mut().expect("one").extend(more.as_object().expect("one").clone());
        body
    };
    let version = serde_json::json!({ "version": "2026.11.26" });
    let api = "/api/v1/environments/production";
    for (path, more) in [
        (format!("{api}/promote"), version.clone()),
        (format!("{api}/rollback"), version.clone()),
        (format!("{api}/release-hold"), serde_json::json!({})),
        (format!("{api}/freeze"), serde_json::json!({})),
        (format!("{api}/unfreeze"), serde_json::json!({})),
    ] {
        let ask = || post(&path, body(more.clone())).header("if-match", "\"1\"");
        let got = super::check(&app, ask().caller(Some(bounded("other")))).await;
        assert_eq!(got, "403 out-of-scope", "{path}");
        let got = super::check(&app, ask().caller(Some(bounded("shop")))).await;
        assert!(!got.starts_with("403"), "{path}: {got}");
    }
    // All catalogs at once are more than one.
    let all = post(&format!("{api}/freeze"), serde_json::json!({ "reason": "because" }));
    assert_eq!(super::check(&app, all.caller(Some(bounded("shop")))).await, "403 out-of-scope");
    for (catalog, wanted) in [("other", "403 out-of-scope"), ("shop", "200")] {
        for path in [format!("{api}/catalog?catalog=shop&format=mcp"), format!("{api}/catalog?catalog=shop")]
        {
            // Twice: the second answer is one that is kept.
            for _ in 0..2 {
                let got = super::check(&app, get(&path).caller(Some(bounded(catalog)))).await;
                assert_eq!(got, wanted, "{path} as {catalog}");
            }
        }
    }
}

/// A caller that may override gates is a person, whatever its roles.
#[tokio::test]
async fn a_pipeline_rolls_back_but_never_as_an_emergency() {
    let app: App = seed::story().await;
    let ask = |emergency: bool| {
        let body = serde_json::json!({
            "catalog": "shop", "version": "2026.11.26", "reason": "because", "emergency": emergency,
        });
        post("/api/v1/environments/production/rollback", body)
            .header("if-match", "\"99\"")
            .caller(Some(caller(CallerKind::Ci, Role::Operator)))
    };
    assert_eq!(super::check(&app, ask(true)).await, "403 kind-forbidden");
    assert_eq!(super::check(&app, ask(false)).await, "412 stale-generation");
}

/// What is answered beside the table of permissions: it holds no names, and needs the same.
#[tokio::test]
async fn what_stands_beside_the_table_is_for_who_is_known() {
    let app = seed::story().await;
    let with =
        |catalog: Option<&str>| Caller { scope: super::scope(catalog, None), ..Caller::local("somebody") };
    for (path, caller, wanted) in [
        ("/metrics", None, 401),
        ("/metrics", Some(with(Some("shop"))), 403),
        ("/metrics", Some(with(None)), 200),
        ("/api/docs", None, 401),
        ("/api/docs", Some(with(Some("shop"))), 200),
        ("/api/v1/nothing", None, 401),
        ("/api/v1/nothing", Some(with(None)), 404),
    ] {
        let got = answer(&app, crate::ask::get(path).caller(caller.clone())).await;
        assert_eq!(got.status.as_u16(), wanted, "{path} {caller:?}");
    }
}
