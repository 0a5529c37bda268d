BEGIN TRANSACTION;
CREATE TABLE photinus_amendments (
	study_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	event INTEGER NOT NULL, 
	old_values TEXT NOT NULL, 
	new_values TEXT NOT NULL, 
	at TEXT NOT NULL, 
	PRIMARY KEY (study_id, number, event), 
	FOREIGN KEY(study_id, number) REFERENCES photinus_trials (study_id, number) ON DELETE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "photinus_amendments" VALUES(1,0,10,'{"loss":0.30000000000000004,"acc":1e+300}','{"loss":5e-324,"acc":-0.0}','2030-01-01 00:00:02.500000');
CREATE TABLE photinus_reports (
	study_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	step INTEGER NOT NULL, 
	"values" TEXT NOT NULL, 
	at TEXT NOT NULL, 
	PRIMARY KEY (study_id, number, step), 
	FOREIGN KEY(study_id, number) REFERENCES photinus_trials (study_id, number) ON DELETE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "photinus_reports" VALUES(1,0,0,'{"loss":1.0,"acc":1.0}','2030-01-01 00:00:01.500000');
INSERT INTO "photinus_reports" VALUES(1,0,1,'{"loss":0.5,"acc":0.5}','2030-01-01 00:00:01.500000');
INSERT INTO "photinus_reports" VALUES(1,0,2,'{"loss":0.3333333333333333,"acc":"inf"}','2030-01-01 00:00:01.500000');
INSERT INTO "photinus_reports" VALUES(1,0,3,'{"loss":0.25,"acc":"nan"}','2030-01-01 00:00:01.500000');
INSERT INTO "photinus_reports" VALUES(1,3,7,'{"loss":2.5,"acc":0.5}','2030-01-01 00:00:02.500000');
CREATE TABLE photinus_schema (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT photinus_schema_pkc PRIMARY KEY (version_num)
);
INSERT INTO "photinus_schema" VALUES('0002');
CREATE TABLE photinus_studies (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	project TEXT NOT NULL, 
	name TEXT NOT NULL, 
	problem TEXT NOT NULL, 
	algorithm TEXT NOT NULL, 
	seed INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	metadata TEXT NOT NULL, 
	num_trials INTEGER NOT NULL, 
	last_event INTEGER NOT NULL, 
	lock_owner TEXT, 
	lock_expires_at TEXT, 
	CONSTRAINT photinus_studies_by_name UNIQUE (project, name)
);
INSERT INTO "photinus_studies" VALUES(1,'default','second''s "study" / 🔥','{"format":1,"space":{"format":1,"parameters":[{"name":"lr","type":"float","low":1e-05,"high":0.1,"scale":"log","children":[]},{"name":"layers","type":"int","low":1,"high":8,"scale":"linear","children":[]},{"name":"batch","type":"discrete","values":[16,32],"scale":"linear","children":[]},{"name":"opt","type":"categorical","values":["adam","sgd",null,true],"children":[]}],"constraints":[],"context":[]},"metrics":[{"name":"loss","goal":"minimize"},{"name":"acc","goal":"maximize"}]}','paper',4294967295,'active','2030-01-01 00:00:00.000000','{"team":"blue"}',7,18,NULL,NULL);
INSERT INTO "photinus_studies" VALUES(2,'other','empty','{"format":1,"space":{"format":1,"parameters":[{"name":"x","type":"float","low":0.0,"high":1.0,"scale":"linear","children":[]}],"constraints":[],"context":[]},"metrics":[{"name":"value","goal":"minimize"}]}','default',1,'active','2030-01-01 00:00:05.750000','{}',0,0,NULL,NULL);
INSERT INTO "photinus_studies" VALUES(4,'other','stopped','{"format":1,"space":{"format":1,"parameters":[{"name":"x","type":"float","low":0.0,"high":1.0,"scale":"linear","children":[]}],"constraints":[],"context":[]},"metrics":[{"name":"value","goal":"minimize"}]}','random',2,'stopped','2030-01-01 00:00:06.750000','{}',3,6,NULL,NULL);
CREATE TABLE photinus_trials (
	study_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	params TEXT NOT NULL, 
	state TEXT NOT NULL, 
	"values" TEXT, 
	message TEXT, 
	worker TEXT, 
	created_at TEXT, 
	started_at TEXT, 
	completed_at TEXT, 
	lease_expires_at TEXT, 
	attempts INTEGER NOT NULL, 
	created_event INTEGER NOT NULL, 
	asked_event INTEGER, 
	completed_event INTEGER, 
	updated_event INTEGER NOT NULL, 
	reason TEXT, 
	algorithm TEXT, 
	engine_version TEXT, 
	metadata TEXT NOT NULL, has_reports BOOLEAN DEFAULT 0 NOT NULL, has_amendments BOOLEAN DEFAULT 0 NOT NULL, 
	PRIMARY KEY (study_id, number), 
	FOREIGN KEY(study_id) REFERENCES photinus_studies (id) ON DELETE CASCADE
);
INSERT INTO "photinus_trials" VALUES(1,0,'{"lr":0.1,"layers":1,"batch":16,"opt":"adam"}','completed','{"loss":5e-324,"acc":-0.0}',NULL,'w1','2030-01-01 00:00:00.500000','2030-01-01 00:00:00.500000','2030-01-01 00:00:01.500000',NULL,1,1,1,9,10,'{"method":"ucb","i":0}','paper','1','{}',1,1);
INSERT INTO "photinus_trials" VALUES(1,1,'{"lr":0.01,"layers":2,"batch":32,"opt":"sgd"}','infeasible',NULL,'diverged 🔥','w1','2030-01-01 00:00:00.500000','2030-01-01 00:00:00.500000','2030-01-01 00:00:02.500000',NULL,1,2,2,11,11,'{"method":"ucb","i":1}','paper','1','{}',0,0);
INSERT INTO "photinus_trials" VALUES(1,2,'{"lr":0.001,"layers":3,"batch":16,"opt":null}','failed',NULL,'lost','w1','2030-01-01 00:00:00.500000','2030-01-01 00:00:00.500000','2030-01-01 00:00:02.500000',NULL,1,3,3,12,12,'{"method":"ucb","i":2}','paper','1','{}',0,0);
INSERT INTO "photinus_trials" VALUES(1,3,'{"lr":0.0001,"layers":4,"batch":32,"opt":true}','active',NULL,NULL,'w1','2030-01-01 00:00:00.500000','2030-01-01 00:00:00.500000',NULL,'2030-01-01 00:01:00.500000',1,4,4,NULL,13,'{"method":"ucb","i":3}','paper','1','{}',1,0);
INSERT INTO "photinus_trials" VALUES(1,4,'{"lr":0.1,"layers":5,"batch":16,"opt":"adam"}','expired',NULL,NULL,NULL,'2030-01-01 00:00:02.500000','2030-01-01 00:00:03.500000',NULL,NULL,1,14,16,NULL,18,NULL,NULL,NULL,'{"from":"me"}',0,0);
INSERT INTO "photinus_trials" VALUES(1,5,'{"lr":0.01,"layers":6,"batch":32,"opt":"sgd"}','completed','{"loss":0.0,"acc":1.0}',NULL,NULL,'2030-01-01 00:00:02.500000',NULL,'2030-01-01 00:00:02.500000',NULL,0,15,NULL,15,15,NULL,NULL,NULL,'{"k":"v"}',0,0);
INSERT INTO "photinus_trials" VALUES(1,6,'{"lr":0.001,"layers":7,"batch":16,"opt":null}','active',NULL,NULL,NULL,'2030-01-01 00:00:03.500000','2030-01-01 00:00:03.500000',NULL,NULL,1,17,17,NULL,17,'{"method":"random"}','paper','1','{}',0,0);
INSERT INTO "photinus_trials" VALUES(4,0,'{"x":1.0}','completed','{"value":0.0}',NULL,'w2','2030-01-01 00:00:06.750000','2030-01-01 00:00:06.750000','2030-01-01 00:00:07.750000',NULL,1,1,1,4,4,'{}','random','1','{}',0,0);
INSERT INTO "photinus_trials" VALUES(4,1,'{"x":0.5}','completed','{"value":0.3333333333333333}',NULL,'w2','2030-01-01 00:00:06.750000','2030-01-01 00:00:06.750000','2030-01-01 00:00:07.750000',NULL,1,2,2,5,5,'{}','random','1','{}',0,0);
INSERT INTO "photinus_trials" VALUES(4,2,'{"x":0.3333333333333333}','completed','{"value":0.6666666666666666}',NULL,'w2','2030-01-01 00:00:06.750000','2030-01-01 00:00:06.750000','2030-01-01 00:00:07.750000',NULL,1,3,3,6,6,'{}','random','1','{}',0,0);
CREATE INDEX photinus_trials_open ON photinus_trials (study_id, state, number) WHERE state NOT IN ('completed', 'infeasible', 'failed');
CREATE INDEX photinus_trials_changed ON photinus_trials (study_id, updated_event);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('photinus_studies',4);
COMMIT;
