//! Moves of pointers: what stands in their way, and the move itself.
//!
//! A move is judged by gates, in one place for promotions, rollbacks and their rehearsals: whoever rehearses sees what the
//! move will say.

use serde_json::json;

use super::{
    App, AppError, Kind, MoveRequest, Overrides, TRIES,
    check::compared,
    earlier,
    environments::frozen_place,
    reason,
    review::within_budget,
    shown,
    sides::Unpinned,
    view::{GateCheck, Preflight},
};
use crate::{
    catalog::{
        Catalog, CatalogVersion, EnvironmentPointer, EnvironmentPolicy, Grounds, Move, MoveKind, Policy,
        ProbeAnswer, Probed, Version,
        policy::{Against, Probe},
        review::{Cause, Decisions, blockers},
    },
    diff::Report,
    json::Digest,
    name::{CatalogName, EnvironmentName},
    store::{Basis, Idempotency, NewMove, StoreError},
};

/// The longest idempotency key: it is the key of an index.
const MAX_KEY: usize = 128;
/// Versions looked at for changes that can be decided on before a promotion.
const LOOKED_AT: usize = 10;

impl App {
    /// Moves a pointer to an approved version.
    ///
    /// # Errors
    /// Where the caller saw another generation, the version is live already, is held, or does not exist.
    pub async fn promote(&self, request: &MoveRequest) -> Result<Move, AppError> {
        self.move_to(MoveKind::Promote, request).await
    }

    /// Moves a pointer back to a version that was live there before, and holds the version that was left.
    ///
    /// # Errors
    /// Where the caller saw another generation, or the version was never live there, is live now, or is held.
    pub async fn rollback(&self, request: &MoveRequest) -> Result<Move, AppError> {
        self.move_to(MoveKind::Rollback, request).await
    }

    /// Everything that a move would be judged on, without moving. What stands in the way is told by its gates.
    ///
    /// # Errors
    /// Where the move makes no sense: another generation, a version that does not exist, is live already or is held, or,
    /// of a rollback, was never live.
    pub async fn preflight(&self, kind: MoveKind, request: &MoveRequest) -> Result<Preflight, AppError> {
        no_emergency(kind, request)?;
        Ok(self.examined(kind, request).await?.0)
    }

    async fn move_to(&self, kind: MoveKind, request: &MoveRequest) -> Result<Move, AppError> {
        let key = keyed(request.idempotency_key.as_deref(), || fingerprint(kind, request))?;
        match (self.try_move(kind, request, key.clone()).await, key) {
            // A retry finds the pointer moved by the first try, so what it asks for may make no sense any more.
            (Err(e), Some(key)) if !e.kind.is_ours() => self.answered_instead(e, &key).await,
            (answer, _) => answer,
        }
    }

    /// What was answered under a key whose request is refused by now; the refusal where nothing was.
    pub(super) async fn answered_instead(
        &self,
        refusal: AppError,
        key: &Idempotency,
    ) -> Result<Move, AppError> {
        match self.store.answered(&key.key).await? {
            Some((request, answer)) if request == key.request => Ok(answer),
            Some(_) => Err(StoreError::KeyReused.into()),
            None => Err(refusal),
        }
    }

    async fn try_move(
        &self,
        kind: MoveKind,
        request: &MoveRequest,
        key: Option<Idempotency>,
    ) -> Result<Move, AppError> {
        let why = reason(&request.reason)?;
        no_emergency(kind, request)?;
        for _ in 0..TRIES {
            let (preflight, basis) = self.examined(kind, request).await?;
            if let Some(gate) = preflight.gates.iter().find(|gate| gate.blocks()) {
                let refusal = gate.refusal(kind);
                return Err(AppError { preflight: Some(Box::new(preflight)), ..refusal });
            }
            match self.write_move(kind, request, &why, preflight, basis, key.clone()).await? {
                Some(done) => return Ok(done),
                None => continue,
            }
        }
        let message =
            format!("others write all the time to what a move of `{}` is judged on", request.environment);
        Err(AppError::new(Kind::Conflict, "busy", message).help("try again; nothing was written"))
    }

    /// Nothing, where somebody wrote meanwhile and it has to be judged again.
    async fn write_move(
        &self,
        kind: MoveKind,
        request: &MoveRequest,
        why: &str,
        preflight: Preflight,
        basis: Basis,
        key: Option<Idempotency>,
    ) -> Result<Option<Move>, AppError> {
        let Preflight { environment, catalog, from, to, digest, grounds, .. } = preflight;
        let (name, verb) = match kind {
            MoveKind::Promote => ("environment.promoted", "promoted"),
            MoveKind::Rollback => ("environment.rolled-back", "rolled back"),
        };
        let hold = from.filter(|_| kind == MoveKind::Rollback);
        let generation = request.generation + 1;
        let data = json!({
            "catalog": catalog, "from": from, "to": to, "digest": digest,
            "generation": generation, "hold": hold, "reason": why, "grounds": grounds,
        });
        let event = self.event(&request.actor, name, format!("environment/{environment}"), data);
        let order = Move {
            environment: environment.clone(),
            catalog: catalog.clone(),
            generation,
            kind,
            from,
            to,
            reason: why.to_owned(),
            actor: request.actor.clone(),
            at: event.at,
            grounds,
        };
        let moved = self.store.move_pointer(NewMove { basis, order, key }, event).await;
        // Whether or not it was answered: who asks next, asks what stands.
        self.cache.changed();
        match moved {
            Err(StoreError::Shifted) => Ok(None),
            Err(StoreError::Moved(now)) => {
                let error = stale(&environment, &catalog, request.generation, now.as_deref());
                Err(error.caused_by(format!("lost a race; nothing was {verb}")))
            }
            done => Ok(Some(done?)),
        }
    }

    /// What a move would be judged on, and what that was read from.
    async fn examined(&self, kind: MoveKind, request: &MoveRequest) -> Result<(Preflight, Basis), AppError> {
        let name = self.chosen_catalog(request.catalog.as_ref()).await?;
        let environment = &request.environment;
        // First the place in the log, then everything else: what comes later is noticed.
        let mut basis = self.basis([]).await?;
        let catalog = self.known_catalog(&name).await?;
        let demands = catalog.environments.get(environment);
        // An emergency rests on nothing but where the pointer stands, which the move itself compares.
        if !request.overrides.emergency {
            basis.subjects = vec![format!("catalog/{name}"), format!("environment/{environment}")];
            let before = demands.and_then(|d| d.after.as_ref());
            basis.subjects.extend(before.map(|e| format!("environment/{e}")));
        }
        let target = self.version(&name, request.version).await?;
        let pointer = self.store.pointer(environment, &name).await?;
        self.makes_sense(kind, request, &name, pointer.as_ref(), target.version).await?;
        let live = match &pointer {
            Some(pointer) => Some(self.version(&name, pointer.version).await?),
            None => None,
        };
        let policy = demands.map_or_else(|| catalog.policy.clone(), |d| d.over(&catalog.policy));
        let mut grounds = Grounds { emergency: request.overrides.emergency, ..Grounds::default() };
        let mut gates = Vec::new();

        if let Some(freeze) = self
            .freezes_of(environment)
            .await?
            .into_iter()
            .find(|f| f.catalog.as_ref().is_none_or(|c| *c == name))
        {
            let message = format!(
                "{} is frozen since {} by {}: {}",
                frozen_place(environment, freeze.catalog.as_ref()),
                shown(freeze.at),
                freeze.actor,
                freeze.reason
            );
            let help = "wait until it is unfrozen; an emergency rollback goes on";
            gates.push(GateCheck::failed("frozen", message, help).overridden(request.overrides.emergency));
        }
        if kind == MoveKind::Promote
            && let Some(demands) = demands
        {
            gates.push(self.in_order(&name, demands, &target).await?);
        }
        grounds.approvers = self.approvers(&target).await?;
        if kind == MoveKind::Promote {
            gates.push(enough_approvals(&policy, &target, &grounds.approvers));
            let within = within_budget(&policy, &target.content, &format!("version {}", target.version));
            gates.push(GateCheck::of(
                "too-many-tools",
                within,
                "it holds no more tools than the policy allows",
            ));
        }
        let judged = self.judged_move(kind, &catalog, environment, &policy, live.as_ref(), &target).await;
        // What no document pinned, or what was never listed here, cannot be compared; unknown is never read as compatible.
        let asked = demands.is_some_and(|d| kind == MoveKind::Promote || !d.rollback_fail_on.is_empty());
        let mut unknown = unpinned(live.iter().chain([&target]));
        let (report, earlier) = match judged {
            Ok(judged) => judged,
            Err(e) if !e.kind.is_ours() => {
                unknown = Some((e.message, e.help));
                (None, Vec::new())
            }
            Err(e) => return Err(e),
        };
        if let Some((message, help)) = unknown.filter(|_| asked && live.is_some()) {
            gates.push(
                GateCheck::failed("contracts-unknown", message, &help)
                    .overridden(request.overrides.emergency),
            );
        }
        grounds.verdict = report.as_ref().map(|r| r.verdict);
        let decisions: Decisions = self.store.decisions(&name).await?.into_iter().collect();
        let now = self.now();
        let reports = || report.iter().chain(&earlier);
        let gate = {
            let judging = judging(kind, demands, &policy);
            let open = blockers(&judging, reports(), &decisions, Some(environment), now);
            let counts = |cause: &Cause| match (kind, demands) {
                (MoveKind::Promote, Some(_)) => true,
                (MoveKind::Rollback, Some(demands)) => !demands.rollback_fail_on.is_empty(),
                // Nothing is demanded there, but what was rejected must not come.
                (MoveKind::Promote, None) => matches!(cause, Cause::Rejected(_)),
                (MoveKind::Rollback, None) => false,
            };
            let open: Vec<_> = open.into_iter().filter(|b| counts(&b.cause)).collect();
            grounds.decisions = used(&judging, reports(), &decisions, environment, now);
            match open.first() {
                None => GateCheck::passed("policy-blocks", "no change blocks that nobody accepted"),
                Some(first) => {
                    let rest = match open.len() {
                        1 => String::new(),
                        n => format!(" (and {} more)", n - 1),
                    };
                    let message = format!("for whoever uses `{environment}`: {}{rest}", first.told());
                    let help = match kind {
                        MoveKind::Promote => {
                            "accept or waive the changes by their fingerprints, or change what is promoted"
                        }
                        MoveKind::Rollback => "say that it is an emergency, with the reason, if it has to be",
                    };
                    GateCheck::failed("policy-blocks", message, help)
                        .overridden(request.overrides.emergency && kind == MoveKind::Rollback)
                }
            }
        };
        gates.push(gate);

        let wanted = demands.map_or(Probe::default(), |d| d.probe);
        // Nobody waits for a server where something else stands in the way already; and one goes back because servers are
        // not as they should be, without asking them.
        if kind == MoveKind::Promote && wanted != Probe::Skip && !gates.iter().any(GateCheck::blocks) {
            grounds.probed = self.probed(&target, demands).await?;
            let required = wanted == Probe::Require;
            let insisted = request.overrides.record_probe;
            gates.push(served(target.version, &grounds.probed, demands, required, insisted));
        }
        grounds.overridden = gates.iter().filter(|g| g.overridden).map(|g| g.code.to_owned()).collect();
        let preflight = Preflight {
            kind,
            environment: environment.clone(),
            catalog: name,
            from: pointer.as_ref().map(|p| p.version),
            to: target.version,
            digest: target.digest,
            generation: pointer.map_or(0, |p| p.generation),
            report,
            earlier,
            gates,
            grounds,
            servers: target.content.servers,
        };
        Ok((preflight, basis))
    }

    /// Whether a move is one at all, as the pointer stands.
    async fn makes_sense(
        &self,
        kind: MoveKind,
        request: &MoveRequest,
        catalog: &CatalogName,
        pointer: Option<&EnvironmentPointer>,
        to: CatalogVersion,
    ) -> Result<(), AppError> {
        let environment = &request.environment;
        match (pointer, kind) {
            (Some(pointer), _) if pointer.generation != request.generation => {
                Err(stale(environment, catalog, request.generation, Some(pointer)))
            }
            // What is decided here stays true until the write: it succeeds only at this very generation.
            (Some(pointer), _) => {
                let was_live = self.store.was_live(environment, catalog, to).await?;
                let holds = self.store.holds(environment, catalog).await?;
                may_move(kind, pointer, was_live, &holds, to)
            }
            (None, MoveKind::Promote) if request.generation == 0 => Ok(()),
            (None, MoveKind::Promote) => {
                // Whoever mistyped the name is told so: "stale" would say that somebody else moved it.
                self.pointers_of(environment).await.map_err(|e| {
                    let help = format!("{}; a first promotion is made from generation 0", e.help);
                    e.help(help)
                })?;
                Err(stale(environment, catalog, request.generation, None))
            }
            (None, MoveKind::Rollback) => Err(self.never_used(environment, catalog).await?),
        }
    }

    /// Whether a version was live where it has to have been, and was not left there since.
    async fn in_order(
        &self,
        catalog: &CatalogName,
        demands: &EnvironmentPolicy,
        target: &Version,
    ) -> Result<GateCheck, AppError> {
        let Some(before) = &demands.after else {
            return Ok(GateCheck::passed("order", "no other environment comes before"));
        };
        let held = self.store.holds(before, catalog).await?.contains(&target.version);
        let was_live = self.store.was_live(before, catalog, target.version).await?;
        Ok(match (was_live, held) {
            (true, false) => GateCheck::passed("order", format!("it was live in `{before}`")),
            (true, true) => GateCheck::failed(
                "order",
                format!(
                    "version {} is held in `{before}`, which comes before: it was left by a rollback",
                    target.version
                ),
                "release the hold there first, if what was wrong is mended",
            ),
            (false, _) => GateCheck::failed(
                "order",
                format!("version {} was never live in `{before}`, which comes before", target.version),
                &format!("promote it to `{before}` first"),
            ),
        })
    }

    /// Who approved a version, other than those who had a part in it.
    pub(super) async fn approvers(&self, version: &Version) -> Result<Vec<String>, AppError> {
        let Some(id) = version.draft else { return Ok(Vec::new()) };
        let Some(draft) = self.store.draft(&version.catalog, id).await? else { return Ok(Vec::new()) };
        let approvals = self.store.approvals(id).await?.into_iter();
        let counted = approvals.filter(|a| a.digest == version.digest && !draft.is_author(&a.actor));
        Ok(counted.map(|a| a.actor).collect())
    }

    /// What changes for whoever uses an environment, from what is live to the target; nothing where nothing is live.
    async fn judged_move(
        &self,
        kind: MoveKind,
        catalog: &Catalog,
        environment: &EnvironmentName,
        policy: &Policy,
        live: Option<&Version>,
        target: &Version,
    ) -> Result<(Option<Report>, Vec<Report>), AppError> {
        let Some(live) = live else { return Ok((None, Vec::new())) };
        let label = |v: &Version| format!("{}@{}", v.catalog, v.version);
        let baseline = self.version_side(&label(live), live, Unpinned::LeaveOut).await?;
        let candidate = self.version_side(&label(target), target, Unpinned::LeaveOut).await?;
        let report = compared(baseline, candidate.clone(), policy.options()).await?;
        let looks_back = kind == MoveKind::Promote && policy.against != Against::Latest;
        let earlier = if looks_back {
            let ever = self.ever_live(&catalog.name, Some(environment)).await?;
            let mut older = self.store.versions(&catalog.name).await?;
            // Somebody may rely on what was live, whichever number it has.
            older.retain(|v| {
                v.version != target.version && (v.version < target.version || ever.contains(&v.version))
            });
            let scope = earlier::scope(policy.against, live, &older, &ever);
            self.against_earlier(&scope, &candidate, policy.options()).await?
        } else {
            Vec::new()
        };
        Ok((Some(report), earlier))
    }

    /// What approved versions would bring to the environments of a catalog.
    pub(super) async fn promotable_reports(&self, catalog: &Catalog) -> Result<Vec<Report>, AppError> {
        let mut reports = Vec::new();
        for pointer in self.store.pointers().await?.into_iter().filter(|p| p.catalog == catalog.name) {
            let demands = catalog.environments.get(&pointer.environment);
            let policy = demands.map_or_else(|| catalog.policy.clone(), |d| d.over(&catalog.policy));
            let live = self.version(&catalog.name, pointer.version).await?;
            let numbers = self.store.version_numbers(&catalog.name).await?;
            for number in numbers.into_iter().filter(|n| *n != pointer.version).take(LOOKED_AT) {
                let target = self.version(&catalog.name, number).await?;
                let judged = self.judged_move(
                    MoveKind::Promote,
                    catalog,
                    &pointer.environment,
                    &policy,
                    Some(&live),
                    &target,
                );
                match judged.await {
                    Ok((report, earlier)) => reports.extend(report.into_iter().chain(earlier)),
                    Err(e) if e.kind.is_ours() => return Err(e),
                    Err(_) => {} // what cannot be compared shows no changes
                }
            }
        }
        Ok(reports)
    }
}

/// Refuses a promotion that is called an emergency.
fn no_emergency(kind: MoveKind, request: &MoveRequest) -> Result<(), AppError> {
    if !request.overrides.emergency || kind == MoveKind::Rollback {
        return Ok(());
    }
    let message = "only a rollback can be an emergency";
    Err(AppError::new(Kind::Invalid, "emergency-promotion", message)
        .help("roll back, or let the gates be met"))
}

/// A caller's key with the digest of what it stands for.
///
/// # Errors
/// Where the key is none.
pub(super) fn keyed(
    key: Option<&str>,
    request: impl FnOnce() -> Digest,
) -> Result<Option<Idempotency>, AppError> {
    let Some(key) = key else { return Ok(None) };
    if (1..=MAX_KEY).contains(&key.len()) {
        return Ok(Some(Idempotency { key: key.to_owned(), request: request() }));
    }
    let message = format!("an idempotency key has 1 to {MAX_KEY} bytes");
    Err(AppError::new(Kind::Invalid, "invalid-idempotency-key", message))
}

/// Why versions cannot be compared whole: a member that no document pinned.
fn unpinned<'v>(versions: impl IntoIterator<Item = &'v Version>) -> Option<(String, String)> {
    versions.into_iter().find_map(|version| {
        let member = version.content.members.iter().find(|m| m.digests.is_none())?;
        let message = format!(
            "version {} names tool `{}` without pinning it, so what it is is not known",
            version.version, member.tool
        );
        Some((message, "snapshot the server and draft a version of the catalog; that pins it".to_owned()))
    })
}

/// The policy that a move's report is held against.
fn judging(kind: MoveKind, demands: Option<&EnvironmentPolicy>, policy: &Policy) -> Policy {
    match (kind, demands) {
        (MoveKind::Promote, _) => policy.clone(),
        (MoveKind::Rollback, demands) => {
            let fail_on = demands.map(|d| d.rollback_fail_on.clone()).unwrap_or_default();
            Policy { fail_on, ..policy.clone() }
        }
    }
}

/// The decisions without which a change would block.
fn used<'r>(
    policy: &Policy,
    reports: impl IntoIterator<Item = &'r Report>,
    decisions: &Decisions,
    environment: &EnvironmentName,
    now: chrono::DateTime<chrono::Utc>,
) -> Vec<i64> {
    let mut used: Vec<i64> = reports
        .into_iter()
        .flat_map(Report::findings)
        .filter(|(_, finding)| policy.blocks_finding(finding))
        .filter_map(|(_, finding)| decisions.of(&finding.fingerprint, Some(environment), now))
        .filter(|d| d.ruling == crate::catalog::review::Ruling::Accept && !d.is_expired(now))
        .map(|d| d.id)
        .collect();
    used.sort_unstable();
    used.dedup();
    used
}

fn enough_approvals(policy: &Policy, target: &Version, approvers: &[String]) -> GateCheck {
    let needed = policy.approvals as usize;
    if approvers.len() >= needed {
        return GateCheck::passed("approvals", format!("approved by {} of {needed} others", approvers.len()));
    }
    let message = format!(
        "version {} was approved by {} of {needed} people who had no part in it",
        target.version,
        approvers.len()
    );
    let help = match target.draft {
        Some(draft) => format!("let others approve d-{draft} as well"),
        None => "it came with a document; draft and approve it here".to_owned(),
    };
    GateCheck::failed("approvals", message, &help)
}

/// Whether a pointer may be moved to a version.
fn may_move(
    kind: MoveKind,
    pointer: &EnvironmentPointer,
    was_live: bool,
    holds: &[CatalogVersion],
    to: CatalogVersion,
) -> Result<(), AppError> {
    let EnvironmentPointer { environment, catalog, .. } = pointer;
    if pointer.version == to {
        return Err(already_live(pointer));
    }
    if kind == MoveKind::Rollback && !was_live {
        let message = format!("version {to} of catalog `{catalog}` was never live in `{environment}`");
        return Err(AppError::new(Kind::Conflict, "never-live", message)
            .help("a rollback goes to a version that was live there; promote another one"));
    }
    if holds.contains(&to) {
        return Err(held(environment, to));
    }
    Ok(())
}

fn already_live(pointer: &EnvironmentPointer) -> AppError {
    let EnvironmentPointer { environment, version, generation, .. } = pointer;
    let message = format!("version {version} is live in `{environment}` already, at generation {generation}");
    AppError::new(Kind::Conflict, "already-live", message).help("nothing has to be done")
}

fn held(environment: &EnvironmentName, version: CatalogVersion) -> AppError {
    let message = format!("version {version} is held in `{environment}`: it was left by a rollback");
    AppError::new(Kind::Conflict, "held", message).help("release the hold first, if what was wrong is mended")
}

/// The caller looked at an older state: who moved the pointer since, and where it is now.
pub(super) fn stale(
    environment: &EnvironmentName,
    catalog: &CatalogName,
    seen: i64,
    now: Option<&EnvironmentPointer>,
) -> AppError {
    let message = match now {
        Some(p) => format!(
            "`{environment}` is at generation {} of catalog `{catalog}`, not {seen}: {} moved it to {} on {}",
            p.generation,
            p.moved_by,
            p.version,
            shown(p.moved_at)
        ),
        None => format!(
            "`{environment}` is at generation 0 of catalog `{catalog}`, not {seen}: nothing was ever live there"
        ),
    };
    AppError::new(Kind::Stale, "stale-generation", message)
        .help("look at the environment again, then repeat with its generation")
}

/// What a retry has to repeat to be the same request: what was sent, not what it came to. A catalog that was left out
/// may have to be named by now. What is not insisted on is left out, as it was before there was anything to insist on:
/// keys are kept for ever.
fn fingerprint(kind: MoveKind, request: &MoveRequest) -> Digest {
    let mut sent = json!({
        "kind": kind, "environment": request.environment, "catalog": request.catalog, "version": request.version,
        "generation": request.generation, "reason": request.reason, "actor": request.actor,
    });
    if request.overrides != Overrides::default() {
        sent["overrides"] = json!(request.overrides);
    }
    Digest::of(&sent)
}

/// The gate of what was asked of servers; `insisted` is whether what they serve is to be recorded and no more.
fn served(
    version: CatalogVersion,
    probed: &[Probed],
    demands: Option<&EnvironmentPolicy>,
    required: bool,
    insisted: bool,
) -> GateCheck {
    const CODE: &str = "not-served";
    // Who is named to serve an environment has to be there; of all others nobody has to know anything.
    let named = |p: &&Probed| demands.is_some_and(|d| d.servers.contains_key(&p.server));
    let unasked = || probed.iter().filter(|p| p.answer == ProbeAnswer::Unregistered);
    let wrong = probed.iter().find(|p| matches!(p.answer, ProbeAnswer::Differs | ProbeAnswer::Unreachable));
    match (wrong, unasked().find(named)) {
        (Some(wrong), _) if required => GateCheck::failed(
            CODE,
            format!("version {version} is not what is served: {}", wrong.told()),
            "deploy the release that the version came from, or draft from what is served; or record what the servers \
             serve and go on",
        )
        .overridden(insisted),
        (None, Some(missing)) if required => GateCheck::failed(
            CODE,
            format!("whether version {version} is what is served is not known: {}", missing.told()),
            "register that server, or mend the name under `servers` of the environment in the catalog's settings; or go on \
             without knowing",
        )
        .overridden(insisted),
        (Some(wrong), _) => GateCheck::passed(CODE, format!("nothing has to be served here; {}", wrong.told())),
        (None, _) => {
            let mut said = match probed.iter().any(|p| p.answer != ProbeAnswer::Unregistered) {
                true => vec!["no server was found to serve something else".to_owned()],
                false => Vec::new(),
            };
            said.extend(unasked().map(Probed::told));
            if said.is_empty() {
                said.push("no server is pinned, so nobody was asked".to_owned());
            }
            GateCheck::passed(CODE, said.join("; "))
        }
    }
}
